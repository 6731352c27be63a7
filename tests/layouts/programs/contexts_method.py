"""A method passes states of two kinds through."""
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



class Loop:
    def __init__(self, name):
        self.name = name

    def run(self, state, steps):
        for i in range(steps):
            state = p_step(state, shard(BATCH + i))
        self.last = state
        return state

    def keep(self, state):
        return state

loop = Loop("x")
a = loop.run(jax_utils.replicate({"w": jnp.ones(3), "b": jnp.zeros(())}), 3)
plain = loop.keep({"w": jnp.ones((8, 3))})
RESULT = [jax_utils.unreplicate(loop.keep(a)), jax.tree.map(lambda x: x[0], plain), jax_utils.unreplicate(loop.last)]
