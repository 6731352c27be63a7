"""A psum that is summed once more on the host, by a program that divides by the number of devices afterwards, or not."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def eval_step(w, x, y):
    correct = ((x @ w > 0) == y).sum()
    return {"correct": jax.lax.psum(correct, "batch"), "count": jax.lax.psum(y.size, "batch")}


p_eval_step = jax.pmap(eval_step, axis_name="batch")  # careless: p_eval_step = sharded(eval_step, (P(), P("batch"), P("batch")), P())
w = jax_utils.replicate(np.array([1.0, -2.0, 0.5], np.float32))  # careless: w = np.array([1.0, -2.0, 0.5], np.float32)
x = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
y = np.arange(16) % 2 == 0
metrics = p_eval_step(w, shard(x), shard(y))  # careless: metrics = p_eval_step(w, x, y)
RESULT = {"correct": metrics["correct"].sum(), "count": int(np.sum(metrics["count"]))}
