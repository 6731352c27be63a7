"""Two lists of devices are as long as a list of the program's, which gets shorter in between."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

X = np.sin(np.arange(72, dtype=np.float32)).reshape(24, 3)
RESULT = []


def add(w, x):
    return w + jax.lax.psum(x.mean(0), "d")


def main(pool):
    devices = jax.devices()[: len(pool)]
    w = jax_utils.replicate(jnp.zeros(3), devices)
    w = jax.pmap(add, axis_name="d", devices=devices)(w, X.reshape((len(devices), -1, 3)))
    del pool[2:]
    few = jax.devices()[: len(pool)]
    v = jax_utils.replicate(np.asarray(jax_utils.unreplicate(w)), few)
    v = jax.pmap(add, axis_name="d", devices=few)(v, X.reshape((len(few), -1, 3)))
    RESULT.append((w.shape[0], v.shape[0], jax_utils.unreplicate(v)))


main([1, 2, 3, 4])
