"""`[:, 0]`, `[0, 1]`, `[0][0]`, `[..., 0]`: the device axis is counted with the others."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


p_body = jax.pmap(lambda w, x: w * jax.lax.pmean(x, "i"), axis_name="i")
w = p_body(jax_utils.replicate(jnp.arange(12.0).reshape(4, 3)), np.arange(8, dtype=np.float32))
RESULT = {
    "column": w[:, 0],
    "row": w[0, 1],
    "element": w[0][0][1],
    "ends": w[..., 0],
    "none": w[None, 0].shape,
    "mask": w[np.arange(8) == 2],
    "swapped": jnp.swapaxes(w, 0, 1)[0].shape,
}
