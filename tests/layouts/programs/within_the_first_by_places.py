"""An array of places beside the 0 moves the axes: `w[0, :, places]` has the transposed shape of `w[0][:, places]`."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

p_mean = jax.pmap(lambda w, x: jax.lax.pmean(w * x[0], "i"), axis_name="i")


def main():
    n = jax.local_device_count()
    places = jnp.array([0, 1, 1])
    w = jax_utils.replicate(jnp.arange(8.0).reshape(4, 2))
    w = p_mean(w, np.arange(n * 3, dtype=np.float32).reshape(n, 3))
    return w[0, :, places]


RESULT = np.asarray(main())
