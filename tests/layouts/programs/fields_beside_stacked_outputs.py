"""One map gives a state with a stacked field, another a tuple with a stacked output, a third a stacked array alone."""
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct
from flax.training.common_utils import shard


@struct.dataclass
class State:
    params: Any
    stats: Any


def train_step(state, batch):
    stats = 0.5 * state.stats + 0.5 * batch.var(0)
    grad = jax.grad(lambda w: jnp.mean((batch / jnp.sqrt(stats + 1e-3) @ w - 1) ** 2))(state.params)
    params = state.params - 0.125 * jax.lax.pmean(grad, "batch")
    return state.replace(params=params, stats=stats), jax.lax.pmean(grad.sum(), "batch"), grad


def eval_step(state, batch):
    out = batch / jnp.sqrt(state.stats) @ state.params
    return jax.lax.pmean(out.sum(), "batch"), out.sum()


p_step = jax.pmap(train_step, axis_name="batch")
p_eval = jax.pmap(eval_step, axis_name="batch")
p_out = jax.pmap(lambda state, batch: batch @ state.params, axis_name="batch")
p_norm = jax.pmap(lambda state: jax.lax.pmean((state.stats**2).sum(), "batch"), axis_name="batch")
state = jax_utils.replicate(State(params=jnp.ones(3), stats=jnp.ones(3)))
for i in range(3):
    batch = shard(np.cos(np.arange(48, dtype=np.float32) * (i + 1)).reshape(16, 3))
    state, mean, grad = p_step(state, batch)
    total, each = p_eval(state, batch)
RESULT = {"grad": grad, "each": each, "total": total[0], "out": p_out(state, batch), "norm": p_norm(state)[0], "mean": mean}
