"""A named tuple whose fields go by name."""
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct
from flax.training.common_utils import shard


class State(NamedTuple):
    step: Any
    theta: Any
    stats: Any


def train_step(state, batch):
    stats = 0.5 * state.stats + 0.5 * batch.var(0)
    value, grad = jax.value_and_grad(lambda w: jnp.mean((batch / jnp.sqrt(stats + 1e-3) @ w - 1) ** 2))(state.theta)
    theta = state.theta - 0.125 * jax.lax.pmean(grad, "batch")
    return state._replace(step=state.step + 1, theta=theta, stats=stats), jax.lax.pmean(value, "batch")


def batch(i):
    return shard(np.cos(np.arange(48, dtype=np.float32) * (i + 1)).reshape(16, 3))


state0 = State(step=0, theta=jnp.ones(3), stats=jnp.ones(3))
p_step = jax.pmap(train_step, axis_name="batch")
state = jax_utils.replicate(state0)
for i in range(3):
    state, loss = p_step(state, batch(i))
one = jax_utils.unreplicate(state)
RESULT = {"stats": state.stats, "theta": state.theta[0], "one": one.stats, "step": one[0]}
