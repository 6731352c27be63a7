"""Starred targets, nested targets, chained assignments, attributes as loop targets."""
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

class Box:
    pass


box = Box()
a = b = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
(c, (d, *e)), box.w = (a, (b, a, b)), a
for box.v in (a, b):
    pass
for i, (box.u, _) in enumerate([(a, 0), (b, 1)]):
    c = box.u
RESULT = [np.asarray(x).sum() for x in (c, d, e[1], box.w, box.v)] + [a[0], len(box.u)]
