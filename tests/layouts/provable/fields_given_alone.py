"""A state that no map takes as a whole: maps take and give its fields, and one of their parameters has a map's name."""
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
    total: Any


def step(step, params, total, batch):
    grad = jax.grad(lambda w: jnp.mean((batch @ w - 1) ** 2))(params)
    params = params - 0.125 * jax.lax.pmean(grad, "batch")
    return step + 1, params, total + batch.sum()


def main():
    p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, replicated, stacked, split -> replicated, replicated, stacked
    state = jax_utils.replicate(State(step=1, params=jnp.ones(3), total=jnp.zeros(())), devices=jax.local_devices())
    for i in range(3):
        batch = shard(np.sin(np.arange(48, dtype=np.float32) * (i + 1)).reshape(16, 3))
        count, params, total = p_step(state.step, state.params, state.total, batch)
        state = state.replace(step=count, params=params, total=total)
    one = jax_utils.unreplicate(state)
    return {"step": one.step, "params": one.params, "total": one.total, "each": np.asarray(state.total)}


RESULT = main()
