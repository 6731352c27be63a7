"""The statistics of a frozen state are averaged on their own, and put back by flax's copy."""
import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(state, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(state["w"])
    mean = jax.lax.pmean(x.mean(0), "batch")
    return {"w": state["w"] - 0.1 * jax.lax.pmean(grad, "batch"), "mean": 0.5 * state["mean"] + 0.5 * mean}


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated
p_mean = jax.pmap(lambda x: jax.lax.pmean(x, "x"), axis_name="x")  # expect: replicated -> replicated


def synchronised(state):
    return flax.core.copy(state, {"mean": p_mean(state["mean"])})


state = jax_utils.replicate({"w": jnp.zeros(3), "mean": jnp.zeros(3)})
for i in range(3):
    state = p_step(state, shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)))
    state = flax.core.unfreeze(flax.core.freeze(synchronised(state)))
RESULT = jax_utils.unreplicate(state)
