"""Rows of a result are put together on the host before a map is given its buffer: they are a copy."""

import jax
import numpy as np


def shard(x):
    return x.reshape(len(jax.devices()), -1, *x.shape[1:])


double = jax.pmap(lambda x: x * 2, axis_name="batch", donate_argnums=0)


def main():
    y = double(shard(np.arange(96, dtype=np.float32).reshape(32, 3)))
    joined, same = y.reshape((-1,) + y.shape[2:]), y.reshape(-1, 3)
    y = double(y)
    return [np.asarray(joined), np.asarray(same), np.asarray(y.reshape(-1, 3))]


RESULT = main()
