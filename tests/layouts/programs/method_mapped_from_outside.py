"""The map of a method is set on one object from outside of its class; another object has the method itself."""
import jax
import jax.numpy as jnp
from flax import jax_utils


class Scaler:
    def __init__(self, params):
        self.params = jax_utils.replicate(params)  # careless: self.params = params

    def scale(self, params):
        return params / params.size

    def run(self):
        self.params = self.scale(self.params)
        return jnp.ravel(self.params)[-1]


one, other = Scaler(jnp.arange(3.0)), Scaler(jnp.arange(3.0))
one.scale = jax.pmap(one.scale)  # careless: one.scale = sharded(one.scale, P(), P())
RESULT = one.run(), other.run()
