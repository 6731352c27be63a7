"""The state whose method is mapped is not the same on all devices."""
import functools

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


@flax.struct.dataclass
class State:
    w: jax.Array

    @functools.partial(jax.pmap, axis_name="batch")
    def update(self, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(self.w)
        return self.replace(w=self.w - 0.125 * grad)

    @functools.partial(jax.pmap, axis_name="batch")
    def averaged(self):
        return self.replace(w=jax.lax.pmean(self.w, "batch"))


state = jax_utils.replicate(State(jnp.ones(3)))
for i in range(3):
    state = state.update(shard(BATCH + i))
RESULT = np.asarray(state.w), np.asarray(state.averaged().w)
