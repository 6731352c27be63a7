"""Several steps in one map by scan: the key in its carry is each device's own, the parameters are the same on all."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step_fn(carry, batch):
    rng, params = carry
    rng, noise_rng = jax.random.split(rng)
    noise = jax.random.normal(noise_rng, (5,))
    grads = jax.grad(lambda p: jnp.mean((batch @ p - noise) ** 2))(params)
    loss = jax.lax.pmean(jnp.mean(batch @ params), axis_name="batch")
    return (rng, params - 0.1 * jax.lax.pmean(grads, axis_name="batch")), loss


def main():
    n = jax.local_device_count()
    rng = jax.random.PRNGKey(0)
    p_step = jax.pmap(functools.partial(jax.lax.scan, step_fn), axis_name="batch", donate_argnums=1)  # expect: stacked, replicated, split -> stacked, replicated, replicated
    p_eval = jax.pmap(functools.partial(jax.lax.scan, step_fn), axis_name="batch")  # expect: stacked, replicated, split -> stacked, replicated, replicated
    params = jax_utils.replicate(jnp.ones(3))
    losses = []
    for i in range(3):
        batch = jnp.asarray(np.sin(np.arange(n * 2 * 5 * 3, dtype=np.float32) + i).reshape(n, 2, 5, 3))
        rng, *keys = jax.random.split(rng, n + 1)
        keys = jnp.asarray(keys)
        (_, params), loss = p_step((keys, params), batch)
        losses.append(jax_utils.unreplicate(loss).mean())
        (_, _), loss = p_eval((keys, params), jnp.cos(jnp.arange(n * 30.0)).reshape(n, 2, 5, 3))
        losses.append(jax_utils.unreplicate(loss).mean())
    return losses, jax_utils.unreplicate(params)


LOSSES, PARAMS = main()
RESULT = {"losses": LOSSES, "params": PARAMS}
