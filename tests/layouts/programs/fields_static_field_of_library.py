"""What is no array in flax's TrainState is used on the host."""
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils, struct
from flax.training import train_state
from flax.training.common_utils import shard


class State(train_state.TrainState):
    batch_stats: Any


def train_step(state, batch):
    stats = 0.5 * state.batch_stats + 0.5 * batch.var(0)
    value, grad = jax.value_and_grad(lambda w: jnp.mean((batch / jnp.sqrt(stats + 1e-3) @ w["w"] - 1) ** 2))(state.params)
    return state.apply_gradients(grads=jax.lax.pmean(grad, "batch"), batch_stats=stats), jax.lax.pmean(value, "batch")


def batch(i):
    return shard(np.cos(np.arange(48, dtype=np.float32) * (i + 1)).reshape(16, 3))


state0 = State.create(apply_fn=None, params={"w": jnp.ones(3)}, tx=optax.sgd(0.125, momentum=0.5), batch_stats=jnp.ones(3))
p_step = jax.pmap(train_step, axis_name="batch")
state = jax_utils.replicate(state0)
for i in range(3):
    state, loss = p_step(state, batch(i))
kind = type(state.tx).__name__
RESULT = {"stats": state.batch_stats, "params": state.params["w"], "tx": len(kind), "step": state.step[0]}
