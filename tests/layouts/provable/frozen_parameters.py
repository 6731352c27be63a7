"""Variables that are put together again at each call: parameters and statistics, frozen as flax wants them."""

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

rows = 8, 2


def apply(variables, x):
    scaled = (x - variables["statistics"]["mean"]) @ variables["params"]["w"]
    return jnp.tanh(scaled + variables["params"]["b"])


def init(size):
    params = {"w": jnp.linspace(0.1, 1.0, size * 2).reshape(size, 2), "b": jnp.ones(2)}
    return {"params": params, "statistics": {"mean": jnp.full(size, 0.25)}}


variables = init(3)
params = jax_utils.replicate(variables["params"])
statistics = jax_utils.replicate(variables["statistics"])
p_apply = jax.pmap(apply)  # expect: replicated, stacked
p_only = jax.pmap(lambda variables: jax.tree.map(jnp.sum, variables["params"]))  # expect: replicated -> replicated

images = jnp.asarray(np.sin(np.arange(48, dtype=np.float32)).reshape(*rows, 3))
first = p_apply(flax.core.FrozenDict(params=params, statistics=statistics), images)
again = p_apply(flax.core.FrozenDict(params=params, statistics=statistics), images + 1)
sums = jax_utils.unreplicate(p_only(flax.core.FrozenDict(params=params)))
RESULT = [np.asarray(first), np.asarray(again), sums]
