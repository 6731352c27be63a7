"""A body with a default that captures what was stacked then."""
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

w = jax_utils.replicate(jnp.ones(3))
scales = jnp.arange(8.0)


def body(x, scales=scales, w=w):
    return jax.lax.psum(x.sum() * scales[jax.lax.axis_index("i")], "i") + w.sum()


RESULT = jax.pmap(body, axis_name="i")(shard(BATCH))[0], p_step(w, shard(BATCH))[0]
