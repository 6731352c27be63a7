"""Copies are put on the devices by a map, and taken off them by a partial of tree_map, which looks at no sharding."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

broadcast = jax.pmap(lambda x: x)  # expect: stacked -> stacked
instance = functools.partial(jax.tree_util.tree_map, lambda x: x[0])
p_split = jax.pmap(lambda key: tuple(jax.random.split(key)))  # expect: stacked -> stacked


def replicate(pytree):
    n = jax.local_device_count()
    stacked = jax.tree_util.tree_map(lambda x: jax.lax.broadcast(x, (n,)), pytree)
    return broadcast(stacked)


def init(key):
    return {"w": jax.random.normal(key, (3,)), "b": jnp.zeros(())}


class Trainer:
    def __init__(self, key):
        self.key, *subkeys = jax.random.split(key, jax.device_count() + 1)
        self.shared_key = broadcast(jnp.stack(subkeys))
        self.train_step = jax.pmap(self._step, axis_name="i")  # expect: replicated, stacked -> replicated, replicated
        self.init_params()

    def init_params(self):
        self.params = init(self.key)
        self.params = replicate(self.params)

    def next_key(self):
        self.shared_key, result = p_split(self.shared_key)
        return result

    def _step(self, params, key):
        noise = jax.random.normal(key, (3,))
        grads = jax.grad(lambda p: jnp.sum((noise @ p["w"] + p["b"]) ** 2))(params)
        grads = jax.lax.pmean(grads, "i")
        return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads), jax.lax.pmean(jnp.sum(noise), "i")

    def step(self):
        self.params, loss = self.train_step(self.params, self.next_key())
        return loss


trainer = Trainer(jax.random.PRNGKey(0))
losses = [float(instance(trainer.step())) for _ in range(3)]
RESULT = [losses, np.asarray(instance(trainer.params)["w"]).tolist()]
