"""reshape(n, -1) of rows with features: the body sees one long row."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")

n = jax.local_device_count()
p_sum = jax.pmap(lambda x: (jax.lax.psum(x.sum(), "i"), jnp.array(x.shape)), axis_name="i")
total, shapes = p_sum(BATCH.reshape(n, -1))
RESULT = {"total": total[0], "shapes": shapes}
