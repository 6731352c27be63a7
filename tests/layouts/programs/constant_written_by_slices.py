"""Arrays of zeros are filled through their first slices, columns and other views, each given to a map of its own."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

N = jax.local_device_count()


def norm(x):
    return jax.lax.psum(jnp.sum(x * jnp.arange(x.size).reshape(x.shape)), "batch"), x


def main():
    found = []
    mapped = [jax.pmap(norm, axis_name="batch") for _ in range(2)]
    first = np.zeros((N, 4), np.float32)
    row = first[0]
    row[2] = 5
    found += jax.pmap(norm, axis_name="batch")(first)
    column = np.zeros((N, 4), np.float32)
    inner = column[:, 1]
    inner[3] = 2
    found += jax.pmap(norm, axis_name="batch")(column)
    whole = np.ones((N, 4), np.float32)
    flat = whole.reshape((-1, 2))
    flat[5] = 3
    found += jax.pmap(norm, axis_name="batch")(whole)
    turned = np.ones((N, 4), np.float32)
    turned.T[1, 6] = 9
    found += jax.pmap(norm, axis_name="batch")(turned)
    sliced = np.full((N, 4), 2, np.float32)
    part = sliced[2:4]
    part -= 1
    found += jax.pmap(norm, axis_name="batch")(sliced)
    summed = np.zeros((N, 4), np.float32)
    np.add.at(summed, (slice(1, 3),), 4.0)
    found += jax.pmap(norm, axis_name="batch")(summed)
    kept = {"mask": np.ones((N, 4), np.float32)}
    kept["mask"][7] = 0
    found += jax.pmap(norm, axis_name="batch")(kept["mask"])
    repeated = np.repeat(np.arange(4, dtype=np.float32)[None], N, axis=0)
    again = repeated[0, ...]
    again[1] = 8
    found += mapped[0](repeated)
    return [np.asarray(x).sum() for x in found] + [jax_utils.unreplicate(mapped[1](jnp.zeros((N, 2))))[0]]


RESULT = main()
