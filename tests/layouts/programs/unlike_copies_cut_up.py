"""An output under out_axes=None that differs, cut up into a batch: of device 0's copy, or each device of its own."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils


def step(w, x):
    return w + x.sum(), x.sum()


def evaluate(w, x):
    return jax.lax.psum((w * x).sum(), "i")


p_step = jax.pmap(step, axis_name="i", out_axes=(None, 0))
p_evaluate = jax.pmap(evaluate, axis_name="i")
x = np.arange(16.0, dtype=np.float32).reshape(8, 2)
w, losses = p_step(jax_utils.replicate(jnp.arange(16.0)), x)
one = jax_utils.replicate(jnp.ones(()))
RESULT = [
    p_evaluate(one, common_utils.shard(np.asarray(w)))[0],
    p_evaluate(one, jax.device_get(w).reshape((8, -1)))[0],
    p_evaluate(one, next(jax_utils.prefetch_to_device(iter([common_utils.shard(w)]), 2)))[0],
    losses,
]
