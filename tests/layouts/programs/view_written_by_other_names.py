"""What other names hold is written into between the split of a buffer and the step."""

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


def by_a_row(p_step):
    buffer = np.array(BATCH)
    x = shard(buffer)
    for row in buffer:
        row[:] = 0.5
    return p_step(jax_utils.replicate(jnp.ones(3)), x)[0]


def by_a_flat_view(p_step):
    buffer = np.array(BATCH)
    x = shard(buffer)
    buffer.flat[:3] = 2
    return p_step(jax_utils.replicate(jnp.ones(3)), x)[0]


def by_a_call_of_numpy(p_step):
    buffer = np.array(BATCH)
    other = np.asarray(buffer)
    x = shard(buffer)
    np.ravel(other)[0] = 2
    return p_step(jax_utils.replicate(jnp.ones(3)), x)[0]


def by_a_memory_view(p_step):
    buffer = np.array(BATCH)
    other = memoryview(buffer)
    x = shard(buffer)
    other[0, 0] = 2
    return p_step(jax_utils.replicate(jnp.ones(3)), x)[0]


def by_a_list(p_step):
    buffer = np.array(BATCH)
    others = [buffer]
    x = shard(buffer)
    others[0][:] = 2
    return p_step(jax_utils.replicate(jnp.ones(3)), x)[0]


def by_a_list_that_grows(p_step):
    buffer = np.array(BATCH)
    others = []
    others.append(buffer)
    x = shard(buffer)
    others[0][:] = 2
    return p_step(jax_utils.replicate(jnp.ones(3)), x)[0]


def by_an_object(p_step):
    buffer = np.array(BATCH)
    filler = Filler(buffer)
    x = shard(buffer)
    filler.fill_kept()
    return p_step(jax_utils.replicate(jnp.ones(3)), x)[0]


def by_an_attribute(p_step):
    buffer = np.array(BATCH)
    filler = Filler()
    setattr(filler, "later", buffer)
    x = shard(buffer)
    filler.later[:] = 3
    return p_step(jax_utils.replicate(jnp.ones(3)), x)[0]


def by_what_a_function_gives(p_step):
    buffer = np.array(BATCH)
    other = same(buffer)
    x = shard(buffer)
    other[:] = 2
    return p_step(jax_utils.replicate(jnp.ones(3)), x)[0]


def by_a_closure(p_step):
    buffer = np.array(BATCH)
    
    def fill_half():
        half = buffer[:8]
        half *= 2
    
    x = shard(buffer)
    fill_half()
    return p_step(jax_utils.replicate(jnp.ones(3)), x)[0]


RESULT = [
    by_a_row(jax.pmap(step, axis_name="batch")),
    by_a_flat_view(jax.pmap(step, axis_name="batch")),
    by_a_call_of_numpy(jax.pmap(step, axis_name="batch")),
    by_a_memory_view(jax.pmap(step, axis_name="batch")),
    by_a_list(jax.pmap(step, axis_name="batch")),
    by_a_list_that_grows(jax.pmap(step, axis_name="batch")),
    by_an_object(jax.pmap(step, axis_name="batch")),
    by_an_attribute(jax.pmap(step, axis_name="batch")),
    by_what_a_function_gives(jax.pmap(step, axis_name="batch")),
    by_a_closure(jax.pmap(step, axis_name="batch")),
]
