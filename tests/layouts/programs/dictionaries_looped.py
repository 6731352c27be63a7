"""Dictionaries made by zip, fromkeys and comprehension, and read by items, values and get."""
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

a = jax_utils.replicate(jnp.ones(3))
b = p_step(a, shard(BATCH))
table = dict(zip("ab", (a, b)))
table |= dict.fromkeys("cd", b)
more = {name: p_step(w, shard(BATCH)) for name, w in table.items()}
RESULT = [
    {name: np.asarray(w).sum() for name, w in sorted(more.items())},
    [w.shape for w in table.values()],
    table.get("a")[0],
    table.get("z", b).sum(),
    more.popitem()[1].shape,
]
