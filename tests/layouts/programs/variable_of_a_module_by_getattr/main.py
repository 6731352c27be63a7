"""A variable of another module is read by getattr and its name."""
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

import cfg
cfg.state = flax.jax_utils.replicate(jnp.ones(3))
cfg.state, loss = p_step(cfg.state, shard(X))
RESULT = [np.asarray(getattr(cfg, "state")).sum(), np.asarray(flax.jax_utils.unreplicate(cfg.state))]
