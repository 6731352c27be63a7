"""The names that a rewrite would like to use are the programs own."""
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

mesh = np.meshgrid(np.arange(3), np.arange(2))
P = lambda x: x * 2
NamedSharding = "a word"
Mesh = 7


def _replicate(x):
    return x + 1


def _shard(x):
    return x - 1


def _shard_map(x):
    return x * 3


def train(w, mesh):
    for i in range(2):
        w = p_step(w, shard(BATCH * mesh))
    return jax_utils.unreplicate(w), mesh


w, m = train(jax_utils.replicate(jnp.ones(3)), 2.0)
RESULT = [P(w), m, mesh[0].sum(), NamedSharding, Mesh, _replicate(1), _shard(1), _shard_map(1)]
