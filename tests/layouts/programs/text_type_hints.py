"""Annotated assignments, hints, docstrings and __future__ annotations."""
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

from typing import Optional


def train(w: jax.Array, rounds: int = 2, keep: Optional[list] = None) -> jax.Array:
    """Trains.

    Returns the first device's parameters.
    """
    stacked: jax.Array = jax_utils.replicate(w)
    out: jax.Array
    for _ in range(rounds):
        out = stacked = p_step(stacked, shard(BATCH))
    if keep is not None:
        keep.append(out[0])
    return out[0]


kept: list = []
RESULT = [train(jnp.ones(3), keep=kept), kept, train.__doc__.splitlines()[0], train.__annotations__["rounds"].__name__]
