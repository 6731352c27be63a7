"""Comparisons of stacked arrays, for equality, order, membership and truth."""
import functools
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

w = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
flag = jax.pmap(lambda x: jax.lax.pmax(x, "i"), axis_name="i")(jnp.arange(8.0))
RESULT = [
    bool((w == w[0]).all()),
    int((flag == 7).sum()),
    bool(7.0 in flag),
    "yes" if (w > -100).all() and len(w) == 8 else "no",
    np.array_equal(w, np.stack([w[0]] * 8)),
]
