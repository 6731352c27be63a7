"""One of two classes runs the mapped function."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(params, x):
    def loss(p):
        return jnp.mean((x @ p["w"] + p["b"] - 1) ** 2)
    grads = jax.lax.pmean(jax.grad(loss)(params), "batch")
    return jax.tree.map(lambda p, g: p - 0.125 * g, params, grads)




class One:
    def __init__(self, fn):
        self.fn = jax.pmap(fn, axis_name="batch")

    def run(self, params, x):
        return self.fn(params, x)


class Two:
    def __init__(self, fn):
        self.fn = jax.pmap(fn, axis_name="batch")

    def run(self, params, x):
        return self.fn(self.fn(params, x), x)


params = jax_utils.replicate({"w": jnp.ones(3), "b": jnp.zeros(())})
for i in range(3):
    runner = One(step) if i % 2 else Two(step)
    params = runner.run(params, shard(BATCH + i))
RESULT = [jax_utils.unreplicate(params)]
