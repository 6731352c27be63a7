"""A closure is defined when what it reads is replicated already; the name held something else before."""
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
    w = jax_utils.replicate(w)

    def seen():
        return jax_utils.unreplicate(w)

    found = []
    for i in range(3):
        w, grad = p_step(w, shard(BATCH * i))
        found.append(seen())
    return found


RESULT = train()
