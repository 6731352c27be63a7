"""Gives one slice to a function that donates it: the state goes on, a copy was given away."""
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
RESULT = []

consume = jax.jit(lambda w: w * 2, donate_argnums=0)
for _ in range(2):
    w = p_step(w, shard(BATCH))
    RESULT.append(np.asarray(consume(jax_utils.unreplicate(w))))
