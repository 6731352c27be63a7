"""The mapped function makes the state anew, some of which differs between devices."""
from typing import Any
import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


class State(flax.struct.PyTreeNode):
    step: int
    params: Any
    stats: Any


def update(key, batch, state):
    grads = jax.grad(lambda p: jnp.mean((batch @ p + state.stats) ** 2))(state.params)
    grads = jax.lax.pmean(grads, "batch")
    stats = 0.9 * state.stats + 0.1 * jnp.mean(batch) + jax.random.normal(key)
    state = State(step=state.step + 1, params=state.params - 0.1 * grads, stats=stats)
    return state


p_update = jax.pmap(update, axis_name="batch")
state = jax_utils.replicate(State(0, jnp.ones(3), jnp.zeros(())))
key = jax.random.key(0)
for i in range(3):
    keys = jax.random.split(jax.random.fold_in(key, i), jax.local_device_count())
    state = p_update(keys, shard(np.ones((16, 3), np.float32) * i), state)
RESULT = [state.params[0], np.asarray(state.stats), state.step[0]]
