"""Calls of many kinds write into a buffer between its split and the step."""

import functools
import operator
import threading

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


def fill(buffer):
    part = buffer[:8]
    part *= 2


class Filler:
    def __init__(self, buffer=None):
        self.kept = buffer

    def fill(self, buffer):
        buffer[0] = 3

    def fill_kept(self):
        self.kept[1] = 3


def same(buffer):
    return buffer


def by_a_ufunc(p_step):
    buffer = np.array(BATCH)
    x = shard(buffer)
    np.multiply(buffer, 2, buffer)
    return p_step(jax_utils.replicate(jnp.ones(3)), x)[0]


def by_a_ufunc_at(p_step):
    buffer = np.array(BATCH)
    x = shard(buffer)
    np.add.at(buffer, 0, 5)
    return p_step(jax_utils.replicate(jnp.ones(3)), x)[0]


def by_an_operator(p_step):
    buffer = np.array(BATCH)
    x = shard(buffer)
    operator.iadd(buffer, 3)
    return p_step(jax_utils.replicate(jnp.ones(3)), x)[0]


def by_a_function(p_step):
    buffer = np.array(BATCH)
    x = shard(buffer)
    fill(buffer)
    return p_step(jax_utils.replicate(jnp.ones(3)), x)[0]


def by_a_keyword(p_step):
    buffer = np.array(BATCH)
    x = shard(buffer)
    fill(buffer=buffer)
    return p_step(jax_utils.replicate(jnp.ones(3)), x)[0]


def by_a_method(p_step):
    buffer = np.array(BATCH)
    x = shard(buffer)
    Filler().fill(buffer)
    return p_step(jax_utils.replicate(jnp.ones(3)), x)[0]


def by_a_partial(p_step):
    buffer = np.array(BATCH)
    filled = functools.partial(fill, buffer)
    x = shard(buffer)
    filled()
    return p_step(jax_utils.replicate(jnp.ones(3)), x)[0]


def by_a_map(p_step):
    buffer = np.array(BATCH)
    x = shard(buffer)
    list(map(fill, [buffer]))
    return p_step(jax_utils.replicate(jnp.ones(3)), x)[0]


def by_a_thread(p_step):
    buffer = np.array(BATCH)
    x = shard(buffer)
    thread = threading.Thread(target=fill, args=(buffer,))
    thread.start()
    thread.join()
    return p_step(jax_utils.replicate(jnp.ones(3)), x)[0]


RESULT = [
    by_a_ufunc(jax.pmap(step, axis_name="batch")),
    by_a_ufunc_at(jax.pmap(step, axis_name="batch")),
    by_an_operator(jax.pmap(step, axis_name="batch")),
    by_a_function(jax.pmap(step, axis_name="batch")),
    by_a_keyword(jax.pmap(step, axis_name="batch")),
    by_a_method(jax.pmap(step, axis_name="batch")),
    by_a_partial(jax.pmap(step, axis_name="batch")),
    by_a_map(jax.pmap(step, axis_name="batch")),
    by_a_thread(jax.pmap(step, axis_name="batch")),
]
