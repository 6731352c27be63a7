"""A method as the body, overridden in a subclass that calls it."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard, shard_prng_key

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
KEY = jax.random.PRNGKey(0)


def noisy(w, x, key):
    x = x + jax.random.normal(key, x.shape)
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")

class Sampler:
    def __init__(self):
        self.p_sample = jax.pmap(self.sample)

    def sample(self, w, key):
        return w + jax.random.normal(key, w.shape)

    def run(self):
        return self.p_sample(jax_utils.replicate(jnp.ones(3)), shard_prng_key(KEY))


class Scaled(Sampler):
    def sample(self, w, key):
        key, sub = jax.random.split(key)
        return super().sample(w, key) * jax.random.uniform(sub)


RESULT = [Sampler().run(), Scaled().run(), Sampler().sample(jnp.ones(3), KEY)]
