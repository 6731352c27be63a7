"""The words of the command line are logged by vars()."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)

import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=0.25)
args = parser.parse_args([])
print("".join(f"{key}={value}" for key, value in vars(args).items()))


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - args.rate * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated
w = jax_utils.replicate(jnp.ones(3))
for i in range(3):
    w = p_step(w, shard(BATCH * i))
RESULT = [w[0]]
