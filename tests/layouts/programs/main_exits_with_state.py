"""A main function of absl that returns its state: the exit status shows all of it."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from absl import app
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(state, batch):
    grad = jax.grad(lambda w: jnp.mean((batch @ w - 1) ** 2))(state["w"])
    return {"w": state["w"] - 0.125 * jax.lax.pmean(grad, "batch")}


def main(argv):
    p_step = jax.pmap(step, axis_name="batch")
    state = jax_utils.replicate({"w": jnp.ones(3)})
    for i in range(2):
        state = p_step(state, shard(BATCH + i))
    return state


sys.argv = ["main.py"]
try:
    app.run(main)
except SystemExit as exit:
    RESULT = np.asarray(exit.code["w"])
