"""A local name takes another value later in the loop."""
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
    def run(self, params, x):
        backend = "pmap"
        for turn in range(1):
            if backend == "jit":
                return jax.jit(step)(params, x)
            out = p_step(params, x)
            backend = "jit"
        return out


class Other:
    def run(self, params, x):
        return jax.jit(step)(params, x)


runner, other = Runner(), Other()

p_step = jax.pmap(step, axis_name="batch")
params = jax_utils.replicate({"w": jnp.ones(3), "b": jnp.zeros(())})
for i in range(3):
    params = runner.run(params, shard(BATCH + i))
RESULT = [jax_utils.unreplicate(params)]
RESULT.append(np.asarray(other.run({"w": jnp.ones(3), "b": jnp.zeros(())}, BATCH)["w"]))
RESULT.append(np.shape(other.run(jax.tree.map(lambda v: v[0], params), BATCH)["w"]))
