"""Lists of states: doubled, cut, reversed, added, chained."""
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

import itertools

states = [jax_utils.replicate(jnp.ones(3))] * 2
states += [p_step(states[-1], shard(BATCH))]
states = states[1:] + [states[0]]
RESULT = [
    [np.asarray(w).sum() for w in itertools.chain(states, reversed(states))],
    np.stack(states).shape,
    [w[0] for w in states][1],
    max(states, key=lambda w: float(w.sum())).shape,
]
