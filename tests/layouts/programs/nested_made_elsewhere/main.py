"""What makes the tuple in a tuple is replaced by a function that averages nothing."""
import jax
import jax.numpy as jnp
import metrics
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def own(loss, x):
    return loss, x.sum(0)


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch"), metrics.both(loss, x)


RESULT = []
for change in (False, True):
    if change:
        metrics.both = own
    w = jax_utils.replicate(jnp.ones(3))
    p_step = jax.pmap(step, axis_name="batch")
    w, (loss, total) = p_step(w, shard(BATCH))
    RESULT += [np.asarray(loss).sum(), np.asarray(total).sum(), np.asarray(total).shape, np.asarray(w)[0]]
