"""A branch replicates the state and ends the program: what comes after it has the state of before."""
import sys

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def train_step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


def main(only_evaluate):
    evaluate = jax.pmap(lambda w, x: jax.lax.pmean(jnp.mean(x @ w), "batch"), "batch")  # expect: replicated, split -> replicated
    w = jnp.ones(3)
    if only_evaluate:
        w = jax_utils.replicate(w)
        print(evaluate(w, shard(BATCH))[0])
        sys.exit(0)
    w = w * 0.5
    w = jax_utils.replicate(w)
    p_step = jax.pmap(train_step, "batch")  # expect: replicated, split -> replicated
    for _ in range(2):
        w = p_step(w, shard(BATCH))
    return [jax_utils.unreplicate(w), evaluate(w, shard(BATCH))[0]]


RESULT = main(only_evaluate=False)
