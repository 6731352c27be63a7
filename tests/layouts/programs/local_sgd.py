"""Parameters drift apart for some steps and are averaged now and then: between two averages they are eight models."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def local_step(w, x, y):
    return w - 0.1 * jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)


p_local_step = jax.pmap(local_step)  # careless: p_local_step = sharded(local_step, (P(), P("batch"), P("batch")), P())
average = jax.pmap(lambda w: jax.lax.pmean(w, "d"), axis_name="d")  # careless: average = lambda w: w
x = np.sin(np.arange(96, dtype=np.float32)).reshape(32, 3)
y = np.cos(np.arange(32, dtype=np.float32))
w = jax_utils.replicate(jnp.zeros(3))  # careless: w = jnp.zeros(3)
batch = shard((x, y))  # careless: batch = (x, y)
for i in range(6):
    w = p_local_step(w, *batch)
    if i % 3 == 2:
        w = average(w)
RESULT = jax_utils.unreplicate(w)  # careless: RESULT = w
