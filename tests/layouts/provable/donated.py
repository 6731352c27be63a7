"""Parameters and optimiser state are donated; the host does not keep what went in."""
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training.common_utils import shard

tx = optax.sgd(0.1, momentum=0.9)


def step(params, opt_state, x):
    grads = jax.grad(lambda p: jnp.mean((x @ p["w"] + p["b"] - 1) ** 2))(params)
    grads = jax.lax.pmean(grads, axis_name="batch")
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state


p_step = jax.pmap(step, axis_name="batch", donate_argnums=(0, 1))  # expect: replicated, replicated, split -> replicated, replicated


def main():
    params = {"w": jnp.zeros(3), "b": jnp.zeros(())}
    opt_state = tx.init(params)
    params, opt_state = jax_utils.replicate(params), jax_utils.replicate(opt_state)
    for i in range(3):
        params, opt_state = p_step(params, opt_state, shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)))
    return jax.device_get(jax_utils.unreplicate(params))


RESULT = main()
