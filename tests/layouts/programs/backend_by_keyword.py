"""The other way is asked for by keyword, from a helper."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(params, x):
    def loss(p):
        return jnp.mean((x @ p["w"] + p["b"] - 1) ** 2)
    grads = jax.grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.125 * g, params, grads)




class Runner:
    def __init__(self, fn, backend="pmap"):
        self.backend = backend
        if self.backend == "pmap":
            self.fn = jax.pmap(fn, axis_name="batch")
        elif self.backend == "jit":
            self.fn = jax.jit(fn)

    def run(self, params, x):
        out = self.fn(params, x)
        if self.backend == "jit":
            return jax.tree.map(lambda v: v[None], out)
        return out


runner = Runner(step)
params = jax_utils.replicate({"w": jnp.ones(3), "b": jnp.zeros(())})
for i in range(3):
    params = runner.run(params, shard(BATCH + i))
RESULT = [jax_utils.unreplicate(params)]


def make(**kwargs):
    return Runner(step, **kwargs)


other = make(backend="jit")
RESULT.append(np.asarray(other.run({"w": jnp.ones(3), "b": jnp.zeros(())}, BATCH)["w"]))
