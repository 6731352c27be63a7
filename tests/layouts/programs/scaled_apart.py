"""flax's loss scale is given no axis: each device applies gradients of its own."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard
from flax.training.dynamic_scale import DynamicScale

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, scale, x):
    def loss(w):
        return jnp.mean((x @ w - 1) ** 2)

    scale, is_finite, value, grad = scale.value_and_grad(loss)(w)
    return jnp.where(is_finite, w - 0.125 * grad, w), scale, value


p_step = jax.pmap(step, axis_name="batch")

w, scale = jax_utils.replicate(jnp.ones(3)), jax_utils.replicate(DynamicScale())
for _ in range(2):
    w, scale, value = p_step(w, scale, shard(BATCH))
RESULT = [w, scale.scale, value]
