"""A state that is a named tuple: `state[0]` is a field."""
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

from typing import NamedTuple


class State(NamedTuple):
    w: jax.Array
    count: jax.Array


def named_step(state, x):
    return State(step(state.w, x), state.count + 1)


p_named = jax.pmap(named_step, axis_name="batch")
state = p_named(jax_utils.replicate(State(jnp.ones(3), jnp.zeros((), jnp.int32))), shard(BATCH))
RESULT = {"field": np.asarray(state[0]).sum(), "count": state[1][0], "w": state[0][0]}
