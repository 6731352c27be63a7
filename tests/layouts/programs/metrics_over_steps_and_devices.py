"""A mean over steps and devices adds equal numbers in another order than a mean over steps alone: the last bit shows."""
import jax
import jax.numpy as jnp
import numpy as np
from flax.training.common_utils import shard


def evaluate(x):
    return jax.lax.pmean(jnp.mean(jnp.exp(x)), "batch")


p_evaluate = jax.pmap(evaluate, axis_name="batch")  # careless: p_evaluate = sharded(evaluate, P("batch"), P())
losses = []
for i in range(37):
    x = np.sin(np.arange(16, dtype=np.float32) * (i + 1) * 1.37)
    losses.append(np.asarray(p_evaluate(shard(x))))  # careless: losses.append(np.asarray(p_evaluate(x)))
losses = np.stack(losses)
RESULT = {"mean": losses.mean(), "of_sums": np.cumsum(losses)[-1] / losses.size, "spread": losses.std()}
