"""Objects that Python asks for batches: by `__iter__`, by `__next__`, and by `__getitem__`."""
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


class Batch(NamedTuple):
    x: np.ndarray
    y: np.ndarray


def split(a):
    n = jax.local_device_count()
    return a.reshape((n, -1) + a.shape[1:])


class Loader:
    def __init__(self, data):
        self.data = data

    def __len__(self):
        return len(self.data)

    def __iter__(self):
        for x, y in self.data:
            yield Batch(split(x), split(y))


class Stream:
    def __init__(self, data):
        self.data = iter(data)

    def __iter__(self):
        return self

    def __next__(self):
        x, y = next(self.data)
        return split(x), split(y)


class Table:
    def __init__(self, data):
        self.data = data

    def __getitem__(self, index):
        x, y = self.data[index]
        return {"x": split(x), "y": split(y)}


def step(w, x, y):
    grad = jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split, split -> replicated


def main():
    data = [(np.arange(48.0).reshape(16, 3) / 9 + i, np.arange(16.0) * i) for i in range(4)]
    w = jax_utils.replicate(jnp.zeros(3))
    loader = Loader(data)
    for batch in loader:
        w = p_step(w, batch.x, batch.y)
    for _, batch in enumerate(loader):
        w = p_step(w, batch.x, batch.y)
    stream = Stream(data)
    x, y = next(stream)
    w = p_step(w, x, y)
    for x, y in stream:
        w = p_step(w, x, y)
    rest = iter(Stream(data))
    x, y = next(rest)
    w = p_step(w, x, y)
    table = Table(data)
    for index in range(len(loader)):
        w = p_step(w, table[index]["x"], table[index]["y"])
    return w[0]


RESULT = main()
