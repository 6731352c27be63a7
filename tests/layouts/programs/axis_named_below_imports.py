"""The axis has a constant, which is bound below the place where helpers stand; one field of a state stays stacked."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

BATCH = np.arange(48, dtype=np.float32).reshape(8, 2, 3) / 7
AXIS = "batch"


class State(NamedTuple):
    w: Any
    m: Any


def step(state, x):
    w = state.w - 0.1 * jax.lax.pmean(x.mean(0), AXIS)
    return State(w=w, m=0.9 * state.m + x.sum()), jax.lax.pmean(x.sum(), AXIS)


p_step = jax.pmap(step, axis_name=AXIS)
state = jax_utils.replicate(State(w=jnp.linspace(0.1, 1.0, 3), m=jnp.zeros(())))
for _ in range(2):
    state, total = p_step(state, BATCH)
RESULT = [jax_utils.unreplicate(state), total[0]]
