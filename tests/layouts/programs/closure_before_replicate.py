"""A closure is defined before what it reads is replicated, and called before and after."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(w, batch):
    grad = jax.grad(lambda w: jnp.mean((batch @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch"), grad


p_step = jax.pmap(step, axis_name="batch")
BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def train():
    w = jnp.arange(3.0)

    def seen():
        return np.asarray(w).sum(0)

    first = seen()
    w = jax_utils.replicate(w)
    second = seen()
    w, grad = p_step(w, shard(BATCH))
    return first, second, seen(), jax_utils.unreplicate(w)


RESULT = train()
