"""A trainer that gives one of its mapped methods to vmap, makes its state from one key in n rows, and counts devices itself."""
import functools
import jax
import jax.numpy as jnp
import numpy as np

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


class Trainer:
    def __init__(self, rate, num_devices=None):
        self.rate = rate
        self.num_devices = num_devices if num_devices is not None else jax.local_device_count()

    @functools.partial(jax.pmap, axis_name="d", static_broadcasted_argnums=(0,))  # expect: static, replicated
    def init(self, key):
        return jax.random.normal(key, (3,)) * self.rate

    @functools.partial(jax.pmap, axis_name="d", static_broadcasted_argnums=(0,))  # expect: static, stacked
    def collect(self, x):
        return jnp.cumsum(x) * self.rate

    @functools.partial(jax.pmap, axis_name="d", static_broadcasted_argnums=(0,))  # expect: static, replicated, split
    def step(self, w, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
        return w - self.rate * jax.lax.pmean(grad, "d")

    def run(self, seed):
        key = jax.random.PRNGKey(seed)
        init_key, key = jax.random.split(key)
        w = self.init(jnp.tile(init_key[None], (self.num_devices, 1)))
        rows = jax.vmap(self.collect, in_axes=1, out_axes=1)(np.arange(32.0).reshape(self.num_devices, 2, 2))
        for i in range(2):
            w = self.step(w, (BATCH + i).reshape((self.num_devices, -1, *BATCH.shape[1:])))
        return w[0], rows


RESULT = [np.asarray(x) for x in Trainer(0.125).run(3)]
