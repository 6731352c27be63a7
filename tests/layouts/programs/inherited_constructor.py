"""A class that the state holds tells devices apart in a constructor that it inherits."""

from collections.abc import Callable

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


class Shifted:
    def __init__(self, w):
        self.value = w + jax.lax.axis_index("batch")


class Named(Shifted):
    pass


@flax.struct.dataclass
class State:
    w: jax.Array
    make: Callable = flax.struct.field(pytree_node=False)


def step(state, batch):
    made = state.make(state.w)
    return state.replace(w=made.value), jax.lax.pmean(jnp.mean(batch), "batch")


p_step = jax.pmap(step, axis_name="batch")
state = jax_utils.replicate(State(w=jnp.ones(3), make=Named))
for i in range(2):
    state, loss = p_step(state, shard(np.arange(16, dtype=np.float32) + i))
RESULT = np.asarray(state.w), np.asarray(loss)
