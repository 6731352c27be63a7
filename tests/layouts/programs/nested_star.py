"""A tuple in a tuple is given away by a star, and set beside others by another."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, b, x):
    loss, (dw, db) = jax.value_and_grad(lambda w, b: jnp.mean((x @ w + b - 1) ** 2), argnums=(0, 1))(w, b)
    return (w - 0.125 * jax.lax.pmean(dw, "batch"), b - 0.125 * db), (loss, x.sum(0))


def weigh(w, b, *rest):
    return np.asarray(w).sum() + 2 * np.asarray(b).sum() + sum(np.asarray(one).sum() for one in rest)


p_step = jax.pmap(step, axis_name="batch")
out = ((jax_utils.replicate(jnp.ones(3)), jax_utils.replicate(jnp.zeros(()))), ())
for _ in range(3):
    out = p_step(*out[0], shard(BATCH))
params, metrics = out
RESULT = [weigh(*params), weigh(*params, *metrics), [one.shape for one in metrics]]
