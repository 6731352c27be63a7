"""A helper is called, and is also handed to a library that calls it."""
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



def fetch(tree, name="none"):
    tree = jax.tree.map(lambda x: x[0], tree)
    return tree

a = jax_utils.replicate({"w": jnp.ones(3), "b": jnp.zeros(())})
for i in range(3):
    a = p_step(a, shard(BATCH + i))
one = fetch(a, "a")
rest = list(map(fetch, [{"w": jnp.ones((8, 3))}, {"b": jnp.arange(8.) + 1}]))
import threading
OUT = []
thread = threading.Thread(target=lambda: OUT.append(fetch({"w": 3 * jnp.ones((8, 3))})))
thread.start()
thread.join()
RESULT = [one, rest, OUT]
