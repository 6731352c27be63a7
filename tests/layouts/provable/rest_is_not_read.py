"""A starred name that nothing reads ties nothing together: `w, *_ = step(...)`."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch"), jax.lax.pmean(loss, "batch"), x.sum(0)


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated, replicated, stacked


def main():
    w = jax_utils.replicate(jnp.ones(3))
    for _ in range(3):
        w, *_ = p_step(w, shard(BATCH))
    w, loss, own = p_step(w, shard(BATCH))
    return jax_utils.unreplicate(w), jax_utils.unreplicate(loss), own.std()


RESULT = [np.asarray(x) for x in main()]
