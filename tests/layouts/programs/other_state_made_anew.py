"""What the mapped function makes anew under its parameter's name is of another class."""
from typing import Any, NamedTuple

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


class Given(NamedTuple):
    params: Any
    stats: Any


class Made(flax.struct.PyTreeNode):
    params: Any
    stats: Any


def update(batch, state):
    grads = jax.grad(lambda p: jnp.mean((batch @ p + state.stats) ** 2))(state.params)
    stats = 0.9 * state.stats + 0.1 * jnp.mean(batch)
    state = Made(params=state.params - 0.1 * jax.lax.pmean(grads, "batch"), stats=stats)
    return state


p_update = jax.pmap(update, axis_name="batch")
given = jax_utils.replicate(Given(jnp.ones(3), jnp.zeros(())))
for i in range(3):
    state = p_update(shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)), given)
    given = Given(state.params, state.stats)
RESULT = [state.params[0], np.asarray(state.stats), given.stats[3]]
