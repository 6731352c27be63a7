"""A default of a helper, and a helper that is bound with partial."""
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


import functools

def pick(tree, names=("w", "b"), other=None):
    chosen = {name: tree[name] for name in names}
    if other is not None:
        chosen["other"] = other
    return chosen

a = jax_utils.replicate({"w": jnp.ones(3), "b": jnp.zeros(())})
for i in range(3):
    a = pick(p_step(a, shard(BATCH + i)))
only = functools.partial(pick, names=("w",))
one = only(a)
two = only({"w": jnp.ones((8, 3))}, other=jnp.ones(8))
RESULT = [jax_utils.unreplicate(a), jax.tree.map(lambda x: x[0], one), jax.tree.map(lambda x: x[0], two)]
