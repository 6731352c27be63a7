"""A loader of which one kind gives other arrays than the maps take."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def split(a):
    return a.reshape((jax.local_device_count(), -1) + a.shape[1:])


def step(w, x):
    return w - jax.lax.pmean(x.mean(0), "batch")


p_step = jax.pmap(step, axis_name="batch")
DATA = [np.arange(48.0).reshape(16, 3) + i for i in range(3)]


class Loader:
    def __iter__(self):
        for x in DATA:
            yield split(x)


class Whole(Loader):
    def __iter__(self):
        yield from DATA


def shapes(loader):
    return [x.shape for x in loader]


w = jax_utils.replicate(jnp.zeros(3))
for x in Loader():
    w = p_step(w, x)
RESULT = {"w": w[0], "whole": shapes(Whole()), "split": shapes(Loader())}
