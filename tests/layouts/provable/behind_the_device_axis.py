"""Indices that leave the device axis alone."""
import jax
import jax.numpy as jnp
import numpy as np

p_mean = jax.pmap(lambda w, x: jax.lax.pmean((w * x).sum(-1), "i"), axis_name="i")  # expect: replicated, split -> replicated


def main():
    n = jax.local_device_count()
    broadcast = lambda x: jnp.broadcast_to(x, (n, 2, 3) + x.shape)
    weights = jax.tree.map(broadcast, jnp.arange(4.0))
    x = np.arange(n * 4, dtype=np.float32).reshape(n, 4)
    found = [p_mean(weights[:, 0, 1], x)[0], p_mean(weights[:, -1, ...], x)[0]]
    found += [p_mean(weights[:, :, 2], x)[0], p_mean(weights[:, None, 1, 0], x)[0]]
    return found, weights[:, 0][0]


RESULT = [np.asarray(x) for x in jax.tree.leaves(main())]
