"""One helper calls steps with and without a state, each as its caller says: the other call of it never comes about."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


@jax.pmap  # expect: stacked -> stacked
def own(x):
    return x * 2


def plain(params, x):
    return jax.lax.psum((x @ params).sum(), "batch")


def with_state(params, state, x):
    return jax.lax.psum(((x - state) @ params).sum(), "batch")


p_plain = jax.pmap(plain, axis_name="batch")  # expect: replicated, split -> replicated
p_with_state = jax.pmap(with_state, axis_name="batch")  # expect: replicated, replicated, split -> replicated


def evaluate(fn, params, state=None):
    total = 0.0
    for _ in range(2):
        batch = shard(BATCH)
        found = fn(params, batch) if state is None else fn(params, state, batch)
        total += float(found[0])
    return total


params = jax_utils.replicate(jnp.ones(3))
state = jax_utils.replicate(jnp.full(3, 0.5))
RESULT = [evaluate(p_plain, params), evaluate(p_with_state, params, state), own(np.arange(8.0)).sum()]
