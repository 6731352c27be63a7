"""A field of a state that says whether gradients are brought together has another value than its default."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


@struct.dataclass
class State:
    params: jnp.ndarray
    shared: bool = struct.field(pytree_node=False, default=True)

    def applied(self, grads):
        if self.shared:
            grads = jax.lax.pmean(grads, "batch")
        return self.replace(params=self.params - 0.1 * grads)


def step(state, x):
    return state.applied(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(state.params))


p_step = jax.pmap(step, axis_name="batch")
state = jax_utils.replicate(State(jnp.linspace(0.1, 1.0, 3), shared=False))
for i in range(3):
    state = p_step(state, shard(BATCH + i))
RESULT = [jax_utils.unreplicate(state.params)]
