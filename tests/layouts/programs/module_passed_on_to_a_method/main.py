"""A file that names no variable calls a method of another one on the module."""
import flax.jax_utils
import jax
import jax.numpy as jnp
import numpy as np
from flax.training.common_utils import shard

n = jax.local_device_count()
X = np.sin(np.arange(n * 6, dtype=np.float32)).reshape(n * 2, 3)


def step(w, x):
    g = jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w), "i")
    return w - 0.1 * g, jax.lax.pmean(jnp.sum(x), "i")


p_step = jax.pmap(step, axis_name="i")

import runner
state = jnp.ones(3)
state = flax.jax_utils.replicate(state)
runner.run()
state, loss = p_step(state, shard(X))
RESULT = [np.asarray(state)]
