"""in_axes as 0 and as a tuple; donate_argnums counted from behind."""
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

w = jax_utils.replicate(jnp.ones(3))
p_zero = jax.pmap(step, "batch", in_axes=0)
p_list = jax.pmap(lambda w, x, s: step(w, x) * s, "batch", in_axes=(0, 0, None))
p_last = jax.pmap(lambda x, w: step(w, x), axis_name="batch", donate_argnums=(1,), out_axes=0)
a = p_zero(w, shard(BATCH))
b = p_list(a, shard(BATCH), 2.0)
RESULT = [a[0], b[0], p_last(shard(BATCH), b)[0], a.sum()]
