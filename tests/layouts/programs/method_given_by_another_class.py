"""A derived class has a method of its own where its base hides its one behind the map."""
import jax
import jax.numpy as jnp
from flax import jax_utils


class Scaler:
    def __init__(self, params):
        self.params = jax_utils.replicate(params)  # careless: self.params = params
        self.scale = jax.pmap(self.scale)  # careless: self.scale = sharded(self.scale, P(), P())

    def scale(self, params):
        return params / 2

    def run(self):
        self.params = self.scale(self.params)
        return jnp.ravel(self.params)[-1] + self.params.size


class Own(Scaler):
    def __init__(self, params):
        self.params = jax_utils.replicate(params)  # careless: self.params = params

    def scale(self, params):
        return params / params.size


RESULT = Scaler(jnp.arange(3.0)).run(), Own(jnp.arange(3.0)).run()
