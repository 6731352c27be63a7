"""A second mapped function keeps an average of the parameters that the first one made."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grad, "batch")


def update(ema, w):
    return jax.tree.map(lambda e, p: 0.9 * e + 0.1 * p, ema, w)


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated
p_update = jax.pmap(update)  # expect: replicated, replicated -> replicated
w = jax_utils.replicate(jnp.zeros(3))
ema = jax_utils.replicate(jnp.zeros(3))
for i in range(3):
    w = p_step(w, shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)))
    ema = p_update(ema, w)
RESULT = jax_utils.unreplicate({"w": w, "ema": ema})
