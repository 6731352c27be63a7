"""The tuple that is returned in a tuple grows on the way: what shows first is not all."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    metrics = (jax.lax.pmean(loss, "batch"),)
    if x.shape[0] > 1:
        metrics += (loss, grad)
    return w - 0.125 * jax.lax.pmean(grad, "batch"), metrics


p_step = jax.pmap(step, axis_name="batch")
w = jax_utils.replicate(jnp.ones(3))
RESULT = []
for rows in (16, 8):
    w, metrics = p_step(w, shard(BATCH[:rows]))
    RESULT += [len(metrics), [np.asarray(m).sum() for m in metrics], np.asarray(w)[0]]
