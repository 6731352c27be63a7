"""Several steps at once by a scan, which carries a key for each device, made anew, and a state."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(carry, batch):
    rng, state = carry
    rng, own = jax.random.split(rng)
    noisy = batch + jax.random.normal(own, batch.shape)
    grad = jax.grad(lambda w: jnp.mean((noisy @ w - 1) ** 2))(state["w"])
    state = {"w": state["w"] - 0.125 * jax.lax.pmean(grad, axis_name="batch")}
    return (rng, state), jax.lax.pmean(noisy.mean(), axis_name="batch")


p_steps = jax.pmap(functools.partial(jax.lax.scan, step), axis_name="batch")  # expect: stacked, replicated, stacked -> stacked, replicated, replicated


def batches(n):
    rows = np.sin(np.arange(n * 2 * 4 * 3, dtype=np.float32)).reshape(n, 2, 4, 3)
    while True:
        rows = rows[::-1] * 0.5
        yield rows.copy()


def main(seed):
    n = jax.local_device_count()
    state, key, made = jax_utils.replicate({"w": jnp.ones(3)}), jax.random.PRNGKey(seed), batches(n)
    losses = []
    for _ in range(3):
        key, *keys = jax.random.split(key, n + 1)
        keys = jnp.asarray(keys)
        (_, state), loss = p_steps((keys, state), next(made))
        losses.append(jax_utils.unreplicate(loss).mean())
    return jax_utils.unreplicate(state), losses


RESULT = main(3)
