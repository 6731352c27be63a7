"""The length of a metric's leading axis, as a number of devices that divides a sum."""
import jax
import jax.numpy as jnp
import numpy as np
from flax.training.common_utils import shard


def count_step(tokens):
    return {"tokens": jax.lax.psum(jnp.sum(tokens > 0), "batch")}


p_count_step = jax.pmap(count_step, axis_name="batch")
metrics = p_count_step(shard(np.arange(48).reshape(16, 3) % 5))
per_device = int(metrics["tokens"][0]) / len(metrics["tokens"])
RESULT = {"per_device": per_device, "devices": metrics["tokens"].shape[0], "all": metrics["tokens"].tolist()}
