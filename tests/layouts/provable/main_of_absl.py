"""A main function that absl runs gives its state to nobody but its caller in the project, which drops it."""

import functools
import sys

import jax
import jax.numpy as jnp
import numpy as np
from absl import app
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
SEEN = []


def step(state, batch):
    grad = jax.grad(lambda w: jnp.mean((batch @ w - 1) ** 2))(state)
    return state - 0.125 * jax.lax.pmean(grad, "batch")


def main(rate):
    p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated
    state = jax_utils.replicate(jnp.ones(3))
    for i in range(2):
        state = p_step(state, shard(BATCH + i))
    SEEN.append(np.asarray(jax_utils.unreplicate(state)) * rate)
    return state


def _run(argv, *, main):
    main(rate=2.0)


sys.argv = ["main.py"]
try:
    app.run(functools.partial(_run, main=main))
except SystemExit:
    pass
RESULT = SEEN
