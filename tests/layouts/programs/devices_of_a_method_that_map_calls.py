"""A method that makes a list of devices is mentioned once, and called twice by what it is given to."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

X = np.sin(np.arange(72, dtype=np.float32)).reshape(24, 3)
RESULT = []


def add(w, x):
    return w + jax.lax.psum(x.mean(0), "d")


class Bench:
    w = None

    def train(self, k):
        devices = jax.devices()[:k]
        step = jax.pmap(add, axis_name="d", devices=devices)
        RESULT.append(0 if self.w is None else self.w.shape[0])
        self.w = jax_utils.replicate(jnp.zeros(3), devices)
        self.w = step(self.w, X.reshape((len(devices), -1, 3)))
        return jax_utils.unreplicate(self.w).tolist()


def timed(run, sizes):
    return [run(size) for size in sizes]


RESULT.append(timed(Bench().train, (2, 4)))
RESULT.append([*map(Bench().train, (4, 2))])
