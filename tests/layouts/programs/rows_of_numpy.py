"""np.asarray(x)[0] of a donated state is numpy's: its arithmetic has other dtypes than that of a jax array."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

x = np.random.RandomState(0).normal(size=(16, 3)).astype(np.float32)


def step(state, x):
    return {"w": state["w"] - 0.1 * jax.lax.pmean(x.mean(0), "batch")}


p_step = jax.pmap(step, axis_name="batch", donate_argnums=(0,))  # careless: p_step = sharded(step, (P(), P("batch")), P())
state = jax_utils.replicate({"w": jnp.ones(3)})  # careless: state = {"w": jnp.ones(3)}
batch = shard(x)  # careless: batch = x
seen = []
for _ in range(2):
    state = p_step(state, batch)
    seen.append(jax.tree.map(lambda x: np.asarray(x)[0], state))  # careless: seen.append(jax.tree.map(jnp.copy, state))
RESULT = [s["w"] / np.float64(3.0) for s in seen]
