"""A closure of the round before is called between two assignments of the name that it reads."""
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
    found = []
    seen = None
    for i in range(3):
        w = np.full((8, 3), i, np.float32)
        if seen is not None:
            found.append(seen())
        w, grad = p_step(jax_utils.replicate(jnp.full(3, i + 0.5)), shard(BATCH))

        def seen():
            return np.asarray(w).sum(0)

        found.append(jax_utils.unreplicate(w))
    return found


RESULT = train()
