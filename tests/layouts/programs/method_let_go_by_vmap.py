"""A mapped method that vmap has is called with slices that nobody sees, by itself and through its object."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

N = jax.local_device_count()


class Model:
    def __init__(self):
        self.total = jax_utils.replicate(jnp.zeros(3))

    @functools.partial(jax.pmap, axis_name="i", static_broadcasted_argnums=0)
    def add(self, total, x):
        return total + jax.lax.psum(x.sum(0), "i")

    @functools.partial(jax.pmap, axis_name="i", static_broadcasted_argnums=0)
    def own(self, x):
        return x * (1.0 + jax.lax.axis_index("i"))


model = Model()
rows = np.arange(96, dtype=np.float32).reshape(N, 2, 2, 3)
lanes = jax.vmap(model.add, in_axes=(None, 1), out_axes=1)(model.total, rows)
own = jax.vmap(model.own, in_axes=1, out_axes=1)(rows)
model.total = model.add(lanes[:, 1], rows[:, 0])  # careless: model.total = model.add(jax_utils.replicate(lanes[0, 0]), rows[:, 0])
RESULT = [np.asarray(x) for x in (lanes, own, model.total)]
