"""One number of each device in a column: there is no axis to split, however the numbers are put in a row."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def evaluate(w, x):
    error = x @ w - 1
    loss = jnp.mean(error**2)
    if x.shape[-1] > 2:
        loss = loss / 2
    return loss, jnp.sqrt(jax.lax.stop_gradient(error.sum())), jnp.float32(-1.5)


@functools.partial(jax.pmap, axis_name="i")
def total(w, x):
    return jnp.vdot(x @ w, x @ w) - x.max() * 2


p_loss = jax.pmap(lambda w, x: jnp.mean((x @ w - 1) ** 2))
p_evaluate = jax.pmap(jax.jit(evaluate))
p_rows = jax.pmap(jax.vmap(lambda w, x: (x * w).sum(), in_axes=(None, 0)))
w, batch = jax_utils.replicate(jnp.ones(3)), shard(BATCH)
losses, totals = p_loss(w, batch), total(w, batch)
RESULT = {
    "column": losses.reshape((-1, 1)),
    "totals": totals.reshape((-1,) + totals.shape[2:]),
    "each": [x.reshape(-1, 1) for x in p_evaluate(w, batch)],
    "rows": p_rows(w, batch).reshape(-1, 2),
}
