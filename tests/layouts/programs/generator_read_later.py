"""Generator expressions read a variable when their values are asked for: before it is replicated, and after."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def first(tree):
    return jax.tree.map(lambda x: x[0], tree)


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


def replicated_later():
    p_step = jax.pmap(step, axis_name="batch")
    w = jnp.linspace(0.1, 1.0, 3)
    firsts = (first(w) for _ in range(2))
    before = next(firsts)
    w = p_step(jax_utils.replicate(w), shard(BATCH))
    return before, next(firsts)


def unreplicated_later():
    p_step = jax.pmap(step, axis_name="batch")
    w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
    firsts = (first(w) for _ in range(2))
    before = next(firsts)
    w = jax_utils.unreplicate(p_step(w, shard(BATCH)))
    return before, next(firsts)


p_step = jax.pmap(step, axis_name="batch")
w = jnp.linspace(0.1, 1.0, 3)
firsts = (first(w) for _ in range(2))
before = next(firsts)
w = p_step(jax_utils.replicate(w), shard(BATCH))
RESULT = [before, next(firsts), replicated_later(), unreplicated_later()]
