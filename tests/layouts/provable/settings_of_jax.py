"""JAX's settings for TPUs are no functions that the program replaces."""
import os

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

if "ADDRESS_OF_A_TPU" in os.environ:
    from jax.config import config

    config.FLAGS.jax_xla_backend = "tpu_driver"
    config.FLAGS.jax_backend_target = os.environ["ADDRESS_OF_A_TPU"]

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated


def main():
    w = jax_utils.replicate(jnp.ones(3))
    for _ in range(3):
        w = p_step(w, shard(BATCH))
    return jax_utils.unreplicate(w)


RESULT = np.asarray(main())
