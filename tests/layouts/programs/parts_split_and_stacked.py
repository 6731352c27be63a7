"""A tuple of a batch and of a weight for each device, beside parameters; and the tuple swapped with the parameters."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

n = jax.local_device_count()


def loss(params, given):
    (rows, weight), bias = given, params["b"]
    return jax.lax.psum(weight * (rows @ params["w"] + bias).sum(), "i"), rows * weight


p_loss = jax.pmap(loss, axis_name="i")
params = jax_utils.replicate({"w": jnp.ones(3), "b": jnp.zeros(())})
weight = np.linspace(1, 2, n, dtype=np.float32)
rows = shard(np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3))
total, weighed = p_loss(params, (rows, weight))
again, _ = p_loss(params, (weighed, weight))
RESULT = [jax_utils.unreplicate(total), np.asarray(weighed), jax_utils.unreplicate(again)]
