"""The constructor has another method read a method by itself before it hides it behind its map."""
import jax
import jax.numpy as jnp
from flax import jax_utils


class Scaler:
    def __init__(self, params):
        self.params = jax_utils.replicate(params)  # careless: self.params = params
        self.warm_up()
        self.scale = jax.pmap(self.scale)  # careless: self.scale = sharded(self.scale, P(), P())

    def warm_up(self):
        self.first = self.run()

    def scale(self, params):
        return params / params.size

    def run(self):
        self.params = self.scale(self.params)
        return jnp.ravel(self.params)[-1]


scaler = Scaler(jnp.arange(3.0))
RESULT = scaler.first, scaler.run()
