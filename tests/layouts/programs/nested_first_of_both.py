"""The first slice of a tuple in a tuple, one part of which is the same on all devices."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch"), (jax.lax.pmean(x.sum(0), "batch"), x * 2)


p_step = jax.pmap(step, axis_name="batch")
w = jax_utils.replicate(jnp.ones(3))
w, aux = p_step(w, shard(BATCH))
mean, rows = jax.tree_util.tree_map(lambda a: a[0], aux)
every = p_step(w, shard(BATCH))
last = jax.tree_util.tree_map(lambda a: a[-1], every[1])
both = jax_utils.unreplicate(p_step(w, shard(BATCH))[1])
RESULT = [np.asarray(w)[0], mean, rows, last, both]
