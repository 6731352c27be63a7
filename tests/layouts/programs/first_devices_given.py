"""Maps that are given the first few devices, or none, by how many rows there are; one of them is given too few rows."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x):
    return w - jax.lax.psum(x.mean(0), "i")


def run(w, x, rows):
    if rows < jax.local_device_count():
        devices = jax.local_devices()[:rows]
    else:
        devices = None
    p_step = jax.pmap(step, axis_name="i", devices=devices)
    return p_step(w, x)


def caught(w, x):
    try:
        return jax.pmap(step, axis_name="i", devices=jax.devices()[:4])(w, x)
    except ValueError:
        return jnp.zeros((1, 3))


w, x = jax_utils.replicate(jnp.ones(3)), shard(BATCH)
few = jax_utils.replicate(jnp.ones(3), jax.local_devices()[:4])
RESULT = {
    "all": run(w, x, 8)[0],
    "few": run(few, BATCH[:8].reshape(4, 2, 3), 4)[0],
    "caught": caught(jax_utils.replicate(jnp.ones(3)), shard(BATCH))[0],
}
