"""One of two objects that hold the state is given to a library."""
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



import copy
p_step = jax.pmap(step, axis_name="batch")


class One:
    def take(self, params):
        self.one = params


class Two:
    def take(self, params):
        self.two = params


params = jax_utils.replicate({"w": jnp.ones(3), "b": jnp.zeros(())})
for i in range(3):
    params = p_step(params, shard(BATCH + i))
keeper = One() if len(BATCH) > 20 else Two()
keeper.take(params)
RESULT = [jax_utils.unreplicate(params), [np.asarray(v["b"]) for v in copy.copy(keeper).__dict__.values()]]
