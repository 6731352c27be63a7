"""out_axes=None for what differs between devices, which gives the first one's; and for a part of a tree."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * grad, jax.lax.pmean(grad, "batch")


def nested(w, x):
    return {"w": w + jax.lax.pmean(x.mean(), "batch"), "x": x.sum()}


apart = jax.pmap(step, axis_name="batch", in_axes=(None, 0), out_axes=(None, 0))
together = jax.pmap(lambda w, x: step(w, x)[::-1], axis_name="batch", in_axes=(None, 0), out_axes=(None, 0))
w = jnp.ones(3)
v, grad = apart(w, shard(BATCH))
g, u = together(w, shard(BATCH))
stacked = jax_utils.replicate(w)
s, t = jax.pmap(step, axis_name="batch", out_axes=(0, None))(stacked, shard(BATCH))
both = jax.pmap(nested, axis_name="batch", out_axes={"w": None, "x": 0})(stacked, shard(BATCH))
one = jax.pmap(lambda w, x: step(w, x)[1], axis_name="batch", out_axes=None)(stacked, shard(BATCH))
RESULT = [np.asarray(v).shape, grad, g, u, s, t, both, one, one + w]
