"""A reader hands what it reads to another, which takes sums over everything."""
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


p_step = jax.pmap(step, axis_name="batch")


def total(tree, scale):
    return jax.tree.reduce(lambda a, b: a + b, jax.tree.map(lambda x: scale * np.sum(x), tree))


def describe(tree, name="tree"):
    print(name, total(tree, scale=2.0))
    return total(tree=tree, scale=1.0)


before = describe({"w": jnp.ones(3)}, name="alone")

params = jax_utils.replicate({"w": jnp.ones(3), "b": jnp.zeros(())})
for i in range(3):
    params = p_step(params, shard(BATCH + i))

RESULT = [before, describe(params, name="all"), describe(tree=params["w"]), jax_utils.unreplicate(params)]
