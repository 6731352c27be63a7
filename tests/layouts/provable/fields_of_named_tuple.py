"""A named tuple whose key is each device's own; its parameters are the same everywhere."""
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


class Learner(NamedTuple):
    params: Any
    total: Any


def update(learner, batch):
    grad = jax.grad(lambda w: jnp.mean((batch @ w - 1) ** 2))(learner.params)
    params = learner.params - 0.125 * jax.lax.pmean(grad, "batch")
    return learner._replace(params=params, total=learner.total + batch.sum())


p_update = jax.pmap(update, axis_name="batch")  # expect: replicated, stacked, split -> replicated, stacked
learner = jax_utils.replicate(Learner(params=jnp.ones(3), total=jnp.zeros(())))
for i in range(3):
    learner = p_update(learner, shard(np.sin(np.arange(48, dtype=np.float32) * (i + 1)).reshape(16, 3)))
one = jax_utils.unreplicate(learner)
RESULT = {"params": one.params, "total": one.total, "each": np.asarray(learner.total)}
