"""Copies by repeat, tile and broadcast_to, and batches that are cut into a part for each device."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, momentum, bias, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w + bias["b"] - 1) ** 2))(w)
    momentum = 0.9 * momentum + jax.lax.pmean(grad, "batch")
    return w - 0.125 * momentum, momentum


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, replicated, replicated, split -> replicated, replicated


def main():
    n = jax.local_device_count()
    start = jnp.arange(3.0)
    w = jnp.repeat(start[None], n, axis=0)
    momentum = jnp.tile(start, (n,) + (1,) * start.ndim)
    bias = jax.tree.map(lambda x: jnp.broadcast_to(x[None], (n,) + x.shape), {"b": jnp.asarray(0.5)})
    for i in range(2):
        w, momentum = p_step(w, momentum, bias, jnp.stack(jnp.split(BATCH * i, n)))
    w, momentum = p_step(w, momentum, bias, np.array(np.split(BATCH, n)))
    w, momentum = p_step(w, momentum, bias, np.array(np.split(BATCH, n, 0)))
    parts = jnp.array(jnp.split(BATCH, n, axis=0))
    w, momentum = p_step(w, momentum, bias, parts)
    return jax_utils.unreplicate(w), jax_utils.unreplicate(momentum)


RESULT = [np.asarray(x) for x in main()]
