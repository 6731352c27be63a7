"""What stands behind a starred element of a tuple, whose length is not known, is read as well."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch"), jax.lax.pmean(loss, "batch"), jax.lax.psum(1, "batch")


p_step = jax.pmap(step, axis_name="batch")
w, loss, count = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
every = (*jax_utils.unreplicate(w), loss)
RESULT = [np.asarray(x).sum() for x in (*range(3), count)] + [every[-1].shape, np.asarray(every[3]).sum()]
