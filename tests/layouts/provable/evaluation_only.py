"""psum of sums and counts; both are read from device 0."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def eval_step(params, batch):
    logits = batch["x"] @ params["w"]
    correct = (logits.argmax(-1) == batch["y"]).sum()
    return jax.lax.psum({"correct": correct, "count": batch["y"].size}, "batch")


p_eval_step = jax.pmap(eval_step, axis_name="batch")  # expect: replicated, split -> replicated
params = jax_utils.replicate({"w": jnp.sin(jnp.arange(12.0)).reshape(3, 4)})
correct = count = 0
for i in range(3):
    x = np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)
    metrics = jax_utils.unreplicate(p_eval_step(params, shard({"x": x, "y": np.arange(16) % 4})))
    correct, count = correct + int(metrics["correct"]), count + int(metrics["count"])
RESULT = (correct, count)
