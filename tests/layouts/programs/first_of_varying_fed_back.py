"""Only device 0s parameters are ever looked at, replicated anew, and trained on."""
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

def local(w, x):
    return w - 0.125 * jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)


p_local = jax.pmap(local)
w = jax_utils.replicate(jnp.ones(3))
for i in range(2):
    w = p_local(w, shard(BATCH + i))
    w = p_local(w, shard(BATCH - i))
    w = jax_utils.replicate(w[0])
w = p_local(w, shard(BATCH))
RESULT = [w[0], jax.lax.stop_gradient(w)[3]]
