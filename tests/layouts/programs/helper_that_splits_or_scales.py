"""Helpers are given a project's function that splits a batch, or another one, with arrays that have no device axis yet."""
import jax
import numpy as np


def shard(x):
    return x.reshape((jax.local_device_count(), -1) + x.shape[1:])


def each(f, xs):
    return [f(x) for x in xs]


def leaves(f, tree):
    return jax.tree.map(f, tree)


p_sum = jax.pmap(lambda x: jax.lax.psum(x.sum(), "batch"), axis_name="batch")
x = np.arange(48, dtype=np.float32).reshape(16, 3)
cut, scaled = leaves(shard, {"x": x}), leaves(lambda v: v * 2, {"x": x})
parts, halves = each(shard, [x]), each(lambda v: v[:8], [x])
RESULT = [float(p_sum(cut["x"])[0]), scaled["x"].shape, float(p_sum(parts[0])[0]), halves[0].shape]
