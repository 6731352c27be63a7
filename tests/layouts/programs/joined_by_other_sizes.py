"""Reshapes that look like a join of all rows, of arrays that are no batch, of others' shapes, or after something else."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

n = jax.local_device_count()
X = np.sin(np.arange(96, dtype=np.float32)).reshape(32, 3)
ONES = shard(np.ones((8, 3), np.float32))
four, one = 4, 1


def step(w, x):
    return w * 0.5 + jax.lax.pmean(x.mean(), "i"), x * 2


p_step = jax.pmap(step, axis_name="i")
q_step = jax.pmap(step, axis_name="i")
r_step = jax.pmap(step, axis_name="i")
s_step = jax.pmap(lambda x: x + 1, axis_name="i")
w = jax_utils.replicate(jnp.arange(12.0).reshape(4, 3))
kept = []
w, x = p_step(w, shard(X))
rows = n * four
kept.append(w.reshape(rows, *w.shape[2:]))  # of copies
w = jax_utils.replicate(jnp.ones((4, 3)))
w, y = q_step(w, shard(X))
kept.append(y.reshape(rows, *w.shape[2:]))  # of another's shape
v = jax_utils.replicate(jnp.ones((4, 3)))
v, z = r_step(v, shard(X.reshape(32, 3, 1)))
kept.append(z.reshape(n, *z.shape[2:], four * 3 // 3)[0].sum() if False else z.reshape(rows, *z.shape[2:]))
kept.append(z[0])
u = s_step(ONES)
kept.append(u.reshape(n, *u.shape[2:], one))
kept.append(u.reshape(n, *u.shape[2:]) if u.shape[1] == 1 and u.ndim == 2 else u.sum())
try:
    joined = z.reshape(four, *z.shape[2:])
except TypeError:
    joined = z.sum()
kept.append(joined)
batch = r_step(v, shard(X[:, :, None]))[1]
for size in (four, rows):
    try:
        kept.append(batch.reshape(size, *batch.shape[2:]))
    except (TypeError, ValueError):
        kept.append(0.0)
RESULT = [np.asarray(one).tolist() for one in kept]
