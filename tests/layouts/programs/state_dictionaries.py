"""flax serialisation of stacked states: to_state_dict, flatten_dict, freeze."""
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

from flax import serialization, traverse_util
from flax.core import freeze, unfreeze

p_tree = jax.pmap(lambda p, x: {"a": {"w": step(p["a"]["w"], x)}}, axis_name="batch")
p = p_tree(jax_utils.replicate({"a": {"w": jnp.ones(3)}}), shard(BATCH))
state = serialization.to_state_dict(p)
flat = traverse_util.flatten_dict(p)
RESULT = [state["a"]["w"].shape, flat["a", "w"].sum(), freeze(p)["a"]["w"].shape, unfreeze(freeze(p))["a"]["w"][0]]
