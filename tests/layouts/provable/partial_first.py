"""The first device's slice is taken by a partial of tree_map."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)

import functools

instance = functools.partial(jax.tree_util.tree_map, lambda x: x[0])
scaled = functools.partial(jax.tree_util.tree_map, lambda x, y: x * y)


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w["w"] - 1) ** 2))(w)
    return jax.tree_util.tree_map(lambda p, g: p - 0.25 * g, w, jax.lax.pmean(grad, "batch"))


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated
w = p_step(jax_utils.replicate({"w": jnp.ones(3)}), shard(BATCH))
RESULT = [instance(w)["w"], scaled(instance(w), instance(w))["w"]]
