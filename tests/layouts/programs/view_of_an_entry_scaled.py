"""An entry of a dictionary is scaled in place between the split of the whole and the step."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, batch):
    grad = jax.grad(lambda w: jnp.mean((batch["x"] @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")
data = {"x": np.array(BATCH)}
batch = shard(data)
data["x"] *= 3
RESULT = [p_step(jax_utils.replicate(jnp.ones(3)), batch)[0]]
