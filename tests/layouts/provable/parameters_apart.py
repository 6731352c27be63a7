"""A state of which only a counter is the same on all devices: it stays as it is."""

import jax
import jax.numpy as jnp
import numpy as np
import flax
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


@flax.struct.dataclass
class State:
    params: jax.Array
    step: jax.Array


def step(state, batch):
    grad = jax.grad(lambda w: jnp.mean((batch @ w - 1) ** 2))(state.params)
    return state.replace(params=state.params - 0.125 * grad, step=state.step + 1)


p_step = jax.pmap(step, axis_name="batch")  # expect: stacked, split -> stacked
state = jax_utils.replicate(State(jnp.ones(3), jnp.zeros((), jnp.int32)))
for i in range(2):
    state = p_step(state, shard(BATCH + i))
RESULT = [np.asarray(state.params), int(state.step[0])]
