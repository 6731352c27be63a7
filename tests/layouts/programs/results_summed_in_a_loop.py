"""Sums that a loop puts together from results, from what is no array yet, and from other arrays."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x):
    y = x @ w
    return w - 0.1 * jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w), "i"), y, jax.lax.pmean(y.sum(), "i")


def scale(x, by=2.0):
    return (x - by) * by


p_step = jax.pmap(step, axis_name="i")
w = jax_utils.replicate(jnp.ones(3))
total, scores, last = 0.0, np.zeros((8, 2), np.float32), None
for i in range(3):
    w, y, loss = p_step(w, shard(BATCH + i))
    total = total + loss
    scores = scores + scale(y)
    last = loss if last is None else 0.5 * last + 0.5 * loss
again = scale(np.ones(8, np.float32), 3)
p_row = jax.pmap(lambda row, w: row * w[0])
rows = p_row(scale(y).reshape(8, 2), w)
RESULT = {
    "total": np.asarray(total),
    "scores": np.asarray(scores),
    "last": np.asarray(last),
    "again": again,
    "rows": np.asarray(rows),
    "view": np.asarray(w)[:, None].reshape(-1, 3),
}
