"""A helper that takes the first device's slice, unless it is told otherwise."""
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

def take(tree, device=0):
    return jax.tree.map(lambda x: x[device], tree)


def own(w, x):
    return w - x.mean(0), step(w, x)


mine, ours = jax.pmap(own, axis_name="batch")(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
RESULT = [take(ours), take(mine, 3), take(mine, device=-1), take(mine)]
