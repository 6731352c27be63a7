"""The constructor gives the object to a helper, which reads a method of it, before it hides that behind its map."""
import jax
import jax.numpy as jnp
from flax import jax_utils


def warm_up(scaler):
    scaler.first = scaler.run()


class Scaler:
    def __init__(self, params):
        self.params = jax_utils.replicate(params)  # careless: self.params = params
        warm_up(self)
        self.scale = jax.pmap(self.scale)  # careless: self.scale = sharded(self.scale, P(), P())

    def scale(self, params):
        return params / params.size

    def run(self):
        self.params = self.scale(self.params)
        return jnp.ravel(self.params)[-1]


scaler = Scaler(jnp.arange(3.0))
RESULT = scaler.first, scaler.run()
