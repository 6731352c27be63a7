"""`in_axes` put together from names, spread, as trees, and without the static arguments behind."""
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

STATE, BATCH, NONE = 0, 0, None
BOTH = (STATE, BATCH)
DATA = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x, rate):
    return w - rate * jax.lax.pmean(x.mean(0), "i")


def step_of_two(w, batch, rate):
    return w - rate * jax.lax.pmean((batch["x"] * batch["y"]).mean(0), "i")


@partial(jax.pmap, axis_name="i", in_axes=(0, 0, None), static_broadcasted_argnums=(3, 4))  # expect: replicated, split, broadcast, static, static -> replicated
def repeated(w, x, rate, times, more):
    return w * times + more - rate * jax.lax.pmean(x.mean(0), "i")


named = jax.pmap(step, axis_name="i", in_axes=(STATE, BATCH, NONE))  # expect: replicated, split, broadcast -> replicated
spread = jax.pmap(step, axis_name="i", in_axes=(*BOTH, None))  # expect: replicated, split, broadcast -> replicated
by_tree = jax.pmap(step_of_two, axis_name="i", in_axes=(0, {"x": 0, "y": 0}, None))  # expect: replicated, split, broadcast -> replicated
w, x = jax_utils.replicate(jnp.ones(3)), shard(DATA)
w = named(w, x, 0.5)
w = spread(w, x, 0.25)
w = by_tree(w, shard({"x": DATA, "y": DATA}), 0.125)
w = repeated(w, x, 0.5, 2, 1)
RESULT = w[0]
