"""How a state applies gradients is replaced before the step is compiled."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


@struct.dataclass
class State:
    params: jnp.ndarray

    def applied(self, grads):
        return self.replace(params=self.params - 0.1 * jax.lax.pmean(grads, "batch"))


def locally(self, grads):
    return self.replace(params=self.params - 0.1 * grads)


setattr(State, "app" + "lied", locally)


def step(state, x):
    return state.applied(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(state.params))


p_step = jax.pmap(step, axis_name="batch")
state = jax_utils.replicate(State(jnp.linspace(0.1, 1.0, 3)))
for i in range(3):
    state = p_step(state, shard(BATCH + i))
RESULT = [jax_utils.unreplicate(state.params)]
