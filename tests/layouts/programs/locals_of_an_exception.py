"""The arrays that an exception's frames hold are read through its traceback."""
import sys

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(w, batch):
    return w - 0.125 * jax.lax.pmean(jax.grad(lambda w: jnp.mean((batch @ w - 1) ** 2))(w), "batch")


p_step = jax.pmap(step, axis_name="batch")


def train():
    w = jax_utils.replicate(jnp.arange(3.0))
    w = p_step(w, shard(np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)))
    raise ValueError(jax_utils.unreplicate(w))


try:
    train()
except ValueError:
    frame = sys.exc_info()[2].tb_next.tb_frame
    RESULT = np.asarray(frame.f_locals["w"]).sum(0)
