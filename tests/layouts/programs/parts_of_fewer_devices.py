"""The tuple of one call has slices for half of the devices only."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

n = jax.local_device_count()


def step(carry, x):
    own, state = carry
    return jax.lax.psum(own * x + state, "i")


p_step = jax.pmap(step, axis_name="i")
state = jax_utils.replicate(jnp.float32(2))
half = jax_utils.replicate(jnp.float32(2), devices=jax.local_devices()[: n // 2])
own = np.arange(n, dtype=np.float32)
RESULT = [
    jax_utils.unreplicate(p_step((own, state), own * 2)),
    np.asarray(p_step((own[: n // 2], half), own[: n // 2])),
]
