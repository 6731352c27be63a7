"""A state has fields that are called as the sizes of arrays are."""
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x):
    return w + jax.lax.pmean(x.mean(0), "i"), x * w


p_step = jax.pmap(step, axis_name="i")
w, x = jax_utils.replicate(jnp.ones(3)), shard(X)


class State(NamedTuple):
    shape: jax.Array
    ndim: jax.Array


def shift(state, x):
    return State(state.shape + jax.lax.pmean(x.mean(0), "i"), state.ndim * 2)


p_shift = jax.pmap(shift, axis_name="i")
state = p_shift(jax_utils.replicate(State(jnp.ones(3), jnp.arange(2.0))), x)
RESULT = [np.asarray(state.shape), np.asarray(state.ndim), np.asarray(state.shape[0]), np.asarray(state.shape[1])]
