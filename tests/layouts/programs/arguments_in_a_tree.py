"""A tuple of arguments in one: parameters of all devices beside a batch."""
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
both = jax.pmap(lambda pair: step(*pair), axis_name="batch")((w, shard(BATCH)))
named = jax.pmap(lambda d: step(d["w"], d["x"]), axis_name="batch")({"w": w, "x": shard(BATCH)})
deep = jax.pmap(lambda p, x: step(p[0], x) * p[1], axis_name="batch")((w, jnp.arange(8.0)), shard(BATCH))
RESULT = [both[0], named[0], deep]
