"""A reader changes what it finds by iterating."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(params, x):
    def loss(p):
        return jnp.mean((x @ p["w"] + p["b"]["c"] - 1) ** 2)
    grads = jax.lax.pmean(jax.grad(loss)(params), "batch")
    return jax.tree.map(lambda p, g: p - 0.125 * g, params, grads)


p_step = jax.pmap(step, axis_name="batch")


def count(params):
    for name, part in params.items():
        if name == "b":
            part["c"] = part["c"] + 1
    return sum(x.size for x in jax.tree.leaves(params))


print(count({"w": jnp.ones(3), "b": {"c": jnp.ones(2)}}))

params = jax_utils.replicate({"w": jnp.ones(3), "b": {"c": jnp.zeros(())}})
for i in range(3):
    params = p_step(params, shard(BATCH + i))

n = count(params)
params = p_step(params, shard(BATCH))
RESULT = [n, jax_utils.unreplicate(params)]
