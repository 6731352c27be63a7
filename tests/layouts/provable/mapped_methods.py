"""Methods mapped with their object as a static argument, in a base class and in what derives from it."""
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from jax import lax, pmap, random


class Sampler:
    def __init__(self, size):
        self.size = size
        self.key = random.PRNGKey(0)

    def draw(self):
        self.key, key = random.split(self.key)
        return self.points(random.split(key, jax.local_device_count()))

    @partial(pmap, static_broadcasted_argnums=(0,))  # expect: static, stacked -> stacked
    def points(self, key):
        return random.uniform(key, (self.size, 3))


class Model:
    def __init__(self, rate):
        self.rate = rate
        self.params = jax_utils.replicate({"w": jnp.ones(3), "b": jnp.zeros(())})
        self.weight = jax_utils.replicate(jnp.ones(()))

    def residual(self, params, points):
        raise NotImplementedError

    def loss(self, params, weight, points):
        return weight * jnp.mean(self.residual(params, points) ** 2)

    @partial(pmap, axis_name="batch", static_broadcasted_argnums=(0,))  # expect: static, replicated, replicated, stacked -> replicated
    def step(self, params, weight, points):
        grads = lax.pmean(jax.grad(self.loss)(params, weight, points), "batch")
        return jax.tree.map(lambda p, g: p - self.rate * g, params, grads)

    def train(self, points):
        self.params = self.step(self.params, self.weight, points)


class Line(Model):
    def __init__(self, rate, start):
        super().__init__(rate)
        self.params = jax_utils.replicate({"w": start, "b": jnp.zeros(())})

    def residual(self, params, points):
        return points @ params["w"] + params["b"] - 1

    @partial(pmap, axis_name="batch", static_broadcasted_argnums=(0,), donate_argnums=(2,))  # expect: static, replicated, replicated, stacked -> replicated
    def reweighted(self, params, weight, points):
        return 0.9 * weight + 0.1 * lax.pmean(self.loss(params, 1.0, points), "batch")

    def train(self, points):
        super().train(points=points)
        self.weight = self.reweighted(self.params, self.weight, points)


sampler, model = Sampler(4), Line(0.1, jnp.arange(3.0))
for _ in range(4):
    model.train(sampler.draw())
params = jax_utils.unreplicate(model.params)
RESULT = {"params": params, "weight": np.asarray(model.weight[0])}
