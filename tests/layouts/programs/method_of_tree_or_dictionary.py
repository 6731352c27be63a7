"""A method of that name is mapped for a training state, and is also that of a dictionary."""
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
        grad = jax.grad(lambda w: jnp.mean((x["x"] @ w - 1) ** 2))(self.w)
        return self.replace(w=self.w - 0.125 * jax.lax.pmean(grad, "batch"))


state = jax_utils.replicate(State(jnp.ones(3)))
batch = shard({"x": BATCH})
for i in range(3):
    batch.update({"x": batch["x"] + i})
    state = state.update(batch)
RESULT = state.w[0], np.asarray(batch["x"])
