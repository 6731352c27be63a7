"""A mapped step called by name, with a star and with two."""
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
arguments = (w, shard(BATCH))
named = {"w": w, "x": shard(BATCH)}
RESULT = [p_step(*arguments)[0], np.asarray(p_step(**named)).sum(), p_step(w, x=shard(BATCH))[0], len(arguments[1])]
