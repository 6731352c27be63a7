"""A field of a state holds another function than its default, which would have brought gradients together."""

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def together(grads):
    return jax.lax.pmean(grads, "batch")


def alone(grads):
    return grads


@functools.partial(jax.tree_util.register_dataclass, data_fields=["params"], meta_fields=["reduced"])
@dataclasses.dataclass
class State:
    params: jnp.ndarray
    reduced: Callable = together

    def applied(self, grads):
        return State(self.params - 0.1 * self.reduced(grads), self.reduced)


def step(state, x):
    return state.applied(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(state.params))


p_step = jax.pmap(step, axis_name="batch")
state = jax_utils.replicate(State(jnp.linspace(0.1, 1.0, 3), alone))
for i in range(3):
    state = p_step(state, shard(BATCH + i))
RESULT = [jax_utils.unreplicate(state.params)]
