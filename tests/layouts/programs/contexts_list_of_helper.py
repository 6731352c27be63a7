"""A helper that keeps what it is given in a list of its own module."""
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


SEEN = []


def remember(tree, name):
    SEEN.append(tree)
    return SEEN[-1]

a = jax_utils.replicate({"w": jnp.ones(3), "b": jnp.zeros(())})
for i in range(3):
    a = remember(p_step(a, shard(BATCH + i)), "a")
plain = remember({"w": jnp.ones((8, 3)), "b": jnp.ones(8)}, "plain")
RESULT = [jax.tree.map(lambda x: x[0], one) for one in SEEN]
