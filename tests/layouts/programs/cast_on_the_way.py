"""Trees of stacked and other arrays that functions cast, copy, or only seem to."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

ROWS = []


def cast(x):
    x = jnp.asarray(x)
    return x.astype(jnp.float16)


def flat(x):
    x = jnp.asarray(x)
    return x.ravel()


def of_another(x, y=np.zeros((8, 3))):
    x = jnp.asarray(y)
    return x.astype(y.dtype)


def kept(x):
    ROWS.append(x)
    return jnp.asarray(x)


def step(w, x):
    return w - jax.lax.pmean(x.mean(0), "batch")


p_step = jax.pmap(step, axis_name="batch")
x = np.arange(48.0).reshape(16, 3) / 7
w = p_step(jax_utils.replicate(jnp.ones(3)), x.reshape(8, 2, 3))
half, other = jax.tree.map(cast, (w, x))
lines, _ = jax.tree.map(flat, (w, x))
lost, _ = jax.tree.map(of_another, (w, x))
seen, (again, _) = jax.tree.map(kept, (w, (w, x)))
dropped, _ = jax.tree.map(lambda a: jnp.asarray(a)[None], (w, x))
RESULT = [half[0], other.shape, lines.shape, lost.shape, seen[1], again[2], [r.shape for r in ROWS], dropped.shape]
