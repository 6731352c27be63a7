"""A star goes through the device axis of one array, which has as many slices as the map takes arguments."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
Y = np.cos(np.arange(48, dtype=np.float32)).reshape(16, 3)


def mix(a, b, c, d, e, f, g, h):
    return jax.lax.psum(a - 2 * b + 3 * c - 4 * d + 5 * e - 6 * f + 7 * g - 8 * h, "i")


p_mix = jax.pmap(mix, axis_name="i")
SQUARE = np.sin(np.arange(64, dtype=np.float32)).reshape(8, 8)
same, cut = jax_utils.replicate(jnp.asarray(SQUARE)), shard(np.tile(SQUARE, (8, 1)))
RESULT = [np.asarray(p_mix(*same)), np.asarray(p_mix(*cut))]
