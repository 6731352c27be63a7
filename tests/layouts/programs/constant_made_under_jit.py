"""Constants and copies are made by functions that are compiled, mapped or traced: there nothing can be laid out."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
N = jax.local_device_count()


def step(w, mask, x):
    grad = jax.grad(lambda w: jnp.mean(mask * (x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


@jax.jit
def ones():
    return jnp.ones((N, 2))


@functools.partial(jax.jit, static_argnums=0)
def filled(value):
    return jnp.full((N, 2), 0.5) * value


def copies(w):
    return jnp.repeat(w[None], N, axis=0)


def one_by_one(carry, _):
    return carry + 1, jnp.zeros((N, 2)) + carry


def numbers():
    return jnp.arange(N)


def main():
    w = jax_utils.replicate(jnp.ones(3))
    w = jax.pmap(step, axis_name="batch")(w, ones(), shard(BATCH))
    w = jax.pmap(step, axis_name="batch")(w, filled(2), shard(BATCH))
    made = jax.jit(copies)(jnp.arange(2.0))
    w = jax.pmap(step, axis_name="batch")(w, made, shard(BATCH))
    _, masks = jax.lax.scan(one_by_one, 0.0, None, 2)
    w = jax.pmap(step, axis_name="batch")(w, masks[1], shard(BATCH))
    shape = jax.eval_shape(ones)
    total = jax.pmap(lambda i: jax.lax.psum(i, "i"), axis_name="i")(jax.jit(numbers)())
    each = jax.vmap(lambda i: jnp.ones((N, 2)) * i)(jnp.arange(3.0))
    w = jax.pmap(step, axis_name="batch")(w, each[2], shard(BATCH))
    return jax_utils.unreplicate(w), shape.shape, jax_utils.unreplicate(total)


RESULT = [np.asarray(x) for x in main()]
