"""Buffers that other things hold, or look at, through which they are written."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard
import collections
import copy
import types


def data(seed):
    return np.random.RandomState(seed).randn(16, 3).astype(np.float32)


p_evaluate = jax.pmap(lambda w, x: (jax.lax.pmean(jnp.mean((x @ w) ** 2), "i"), x @ w), axis_name="i")
w = jax_utils.replicate(jnp.array([0.3, -1.7, 2.1]))


def held(kind):
    raw = data(0)
    batch = shard(raw)
    if kind == "deque":
        collections.deque([raw])[0][:] = 1
    elif kind == "ordered":
        collections.OrderedDict(x=raw)["x"] += 1
    elif kind == "namespace":
        types.SimpleNamespace(x=raw).x[0] = 5
    elif kind == "copy":
        copy.copy([raw])[0][:] = 2
    elif kind == "max":
        max([raw], key=len)[:] = 3
    elif kind == "times":
        rows = [raw] * 2
        rows[1][:] = 4
    elif kind == "or":
        ({} | {"x": raw})["x"][:] = 4
    elif kind == "array":
        np.array(raw, copy=False)[:] = 6
    else:
        np.flipud(raw)[0] = 9
    return p_evaluate(w, batch)[0][0]


RESULT = [held(kind) for kind in "deque ordered namespace copy max times or array flipud".split()]
