"""An item of a list is lent to a reader, and of the state that it is one field stays stacked."""
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


@flax.struct.dataclass
class State:
    w: Any
    m: Any


def step(state, x):
    grad = jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - 0.5) ** 2))(state.w)
    return state.replace(w=state.w - 0.1 * jax.lax.pmean(grad, "batch"), m=0.9 * state.m + 0.1 * grad)


p_step = jax.pmap(step, axis_name="batch")
one = jax_utils.replicate(State(w=jnp.linspace(0.1, 1.0, 3), m=jnp.zeros(3)))
two = jax_utils.replicate(State(w=jnp.linspace(0.6, 1.0, 3), m=jnp.zeros(3)))
states = [one, two]
states[0] = p_step(states[0], shard(BATCH))
states[0] = p_step(states[0], shard(BATCH))
RESULT = [jax.tree.map(lambda x: 2 * np.asarray(x), states[0])]
