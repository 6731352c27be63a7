"""A dictionary in an order of its own: unreplicate gives one with sorted keys, which shows where it is iterated over."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(state, batch):
    grad = jax.grad(lambda w: jnp.mean((batch @ w - 1) ** 2))(state["w"])
    return {"w": state["w"] - 0.125 * jax.lax.pmean(grad, "batch"), "a": state["a"] + 1}


p_step = jax.pmap(step, axis_name="batch")
state = {"w": jax_utils.replicate(jnp.ones(3)), "a": jax_utils.replicate(jnp.zeros(()))}
for i in range(2):
    new = p_step(state, shard(BATCH + i))
    state = {"w": new["w"], "a": new["a"]}

one = jax_utils.unreplicate(state)
by_name = {"w": new["w"], "a": new["a"]}
by_name = jax_utils.unreplicate(by_name)
firsts = jax.tree.map(lambda x: x[0], {"v": new["w"], "b": new["a"]})
RESULT = [list(one), list(by_name), [float(np.sum(x)) for x in firsts.values()]]
