"""Of a state only what differs between devices stays stacked: statistics that nothing synchronises."""
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct
from flax.training.common_utils import shard


@struct.dataclass
class State:
    step: Any
    params: Any
    stats: Any


def train_step(state, batch):
    stats = 0.5 * state.stats + 0.5 * batch.var(0)
    value, grad = jax.value_and_grad(lambda w: jnp.mean((batch / jnp.sqrt(stats + 1e-3) @ w - 1) ** 2))(state.params)
    params = state.params - 0.125 * jax.lax.pmean(grad, "batch")
    return state.replace(step=state.step + 1, params=params, stats=stats), jax.lax.pmean(value, "batch")


def eval_step(state, batch):
    return jax.lax.psum((batch / jnp.sqrt(state.stats + 1e-3) @ state.params).sum(), "batch")


def batch(i):
    return shard(np.cos(np.arange(48, dtype=np.float32) * (i + 1)).reshape(16, 3))


p_step = jax.pmap(train_step, axis_name="batch")  # expect: replicated, stacked, split -> replicated, stacked, replicated
p_eval = jax.pmap(eval_step, axis_name="batch")  # expect: replicated, stacked, split -> replicated
p_mean = jax.pmap(lambda x: jax.lax.pmean(x, "x"), axis_name="x")  # expect: stacked -> stacked

state = jax_utils.replicate(State(step=0, params=jnp.ones(3), stats=jnp.ones(3)))
for i in range(3):
    state, loss = p_step(state, batch(i))
state = state.replace(stats=p_mean(state.stats))
seen = jax_utils.unreplicate(p_eval(state, batch(4)))
one = jax_utils.unreplicate(state)
RESULT = {"seen": seen, "loss": jax_utils.unreplicate(loss), "params": one.params, "stats": one.stats}
