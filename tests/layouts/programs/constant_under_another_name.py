"""An array of ones is filled for one device in a list of arrays, by a function that is given it."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

N = jax.local_device_count()
p_sum = jax.pmap(lambda x: jax.lax.psum(x.sum(), "batch"), axis_name="batch")


def forget(rows, which):
    rows[which] = 0


class Masks:
    def __init__(self):
        self.masks = [np.ones((N, 3), np.float32) for _ in range(2)]
        self.last = np.ones((N, 3), np.float32)

    def total(self):
        return [jax_utils.unreplicate(p_sum(mask)) for mask in (*self.masks, self.last)]


masks = Masks()
before = masks.total()
forget(masks.masks[1], 4)
forget(masks.last, slice(2, 5))
RESULT = [before, masks.total()]
