"""An object whose call is mapped, beside another map of the same state."""
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


class Model:
    @functools.partial(jax.pmap, static_broadcasted_argnums=(0,))
    def __call__(self, w, x):
        return x @ w + w.sum()


w = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
out = Model()(w, shard(BATCH))
RESULT = w[0], np.asarray(out)
