"""Functions that make maps and arrays once, whose results a cache keeps."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def update(w, x):
    return w - 0.1 * jax.lax.pmean(jax.grad(lambda w: ((x @ w) ** 2).mean())(w), "i")


@functools.lru_cache(maxsize=None)
def p_update():
    return jax.pmap(update, axis_name="i")  # expect: replicated, split -> replicated


@functools.cache
def p_loss(power):
    dot = lambda w, x: jax.lax.pmean(((x @ w) ** power).mean(), "i")  # noqa: E731
    return jax.pmap(dot, axis_name="i")  # expect: replicated, split -> replicated


@functools.cache
def start():
    return jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))


RESULT = []
w = start()
for i in range(2):
    w = p_update()(w, shard(BATCH + i))
    RESULT += [float(p_loss(2)(w, shard(BATCH))[0]), jax_utils.unreplicate(w)]
RESULT += [jax_utils.unreplicate(p_update()(start(), shard(BATCH))), jax_utils.unreplicate(start())]
