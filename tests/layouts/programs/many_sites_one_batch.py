"""One sharded batch for five maps that look at it in unlike ways."""
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

batch = shard({"x": BATCH, "y": BATCH[:, 0] > 3})
w = jax_utils.replicate(jnp.ones(3))
a = jax.pmap(lambda w, b: jax.lax.pmean((b["x"] @ w).mean(), "i"), "i")(w, batch)
b = jax.pmap(lambda b: b["y"].sum(), "i")(batch)
c = jax.pmap(lambda b: jax.lax.all_gather(b["x"], "i", tiled=True), "i")(batch)
d = jax.pmap(lambda w, b: b["x"] * w, "i")(w, batch)
e = jax.pmap(lambda b: jax.tree.map(lambda x: x[0], b), "i")(batch)
RESULT = [a[0], b, c[0].shape, np.concatenate(list(d)), jax.tree.map(lambda x: x[0], e), d.reshape(16, 3).sum()]
