"""The constructor hides a method behind its map unless it returns before."""
import jax
import jax.numpy as jnp
from flax import jax_utils


class Scaler:
    def __init__(self, params, mapped):
        self.params = jax_utils.replicate(params)  # careless: self.params = params
        if not mapped:
            return
        self.scale = jax.pmap(self.scale)  # careless: self.scale = sharded(self.scale, P(), P())

    def scale(self, params):
        return params / params.size

    def run(self):
        self.params = self.scale(self.params)
        return jnp.ravel(self.params)[-1]


RESULT = Scaler(jnp.arange(3.0), True).run(), Scaler(jnp.arange(3.0), False).run()
