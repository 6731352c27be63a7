"""A method runs by itself on what is stacked until the object hides it behind its map."""
import jax
import jax.numpy as jnp
from flax import jax_utils


class Scaler:
    def __init__(self, params):
        self.params = jax_utils.replicate(params)  # careless: self.params = params

    def start(self):
        self.scale = jax.pmap(self.scale)  # careless: self.scale = sharded(self.scale, P(), P())

    def scale(self, params):
        return params / params.size

    def run(self):
        self.params = self.scale(self.params)
        return jnp.ravel(self.params)[-1]


scaler = Scaler(jnp.arange(3.0))
first = scaler.run()
scaler.start()
RESULT = first, scaler.run()
