"""An object that the state holds tells devices apart in a property that it inherits."""

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


class Shifted:
    @property
    def offset(self):
        return jax.lax.axis_index("batch")


class Named(Shifted):
    pass


@flax.struct.dataclass
class State:
    w: jax.Array
    named: Shifted = flax.struct.field(pytree_node=False)


def step(state, batch):
    w = state.w + state.named.offset
    return state.replace(w=w), jax.lax.pmean(jnp.mean(batch), "batch")


p_step = jax.pmap(step, axis_name="batch")
state = jax_utils.replicate(State(w=jnp.ones(3), named=Named()))
for i in range(2):
    state, loss = p_step(state, shard(np.arange(16, dtype=np.float32) + i))
RESULT = np.asarray(state.w), np.asarray(loss)
