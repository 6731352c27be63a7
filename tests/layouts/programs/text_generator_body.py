"""A generator, an async function and a nested function, each with a step of its own."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")

import asyncio


def rounds(n):
    w = jax_utils.replicate(jnp.ones(3))
    for _ in range(n):
        w = p_step(w, shard(BATCH))
        yield w[0]


async def train():
    w = jax_utils.replicate(jnp.ones(3))

    def once(w):
        return p_step(w, shard(BATCH))

    await asyncio.sleep(0)
    return jax_utils.unreplicate(once(w))


RESULT = [list(rounds(2)), asyncio.run(train())]
