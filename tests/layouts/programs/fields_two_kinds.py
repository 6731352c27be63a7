"""Two kinds of states in one step, each with a field of its own that differs."""
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct
from flax.training.common_utils import shard


@struct.dataclass
class State:
    step: Any
    params: Any
    stats: Any


@struct.dataclass
class Critic:
    params: Any
    noise: Any


def train_step(g, d, batch):
    stats = 0.5 * g.stats + 0.5 * batch.var(0)
    noise = d.noise + jax.lax.axis_index("batch")
    grad = jax.grad(lambda w: jnp.mean((batch / jnp.sqrt(stats + 1e-3) @ w - d.params.sum()) ** 2))(g.params)
    mean = jax.lax.pmean(grad, "batch")
    return g.replace(params=g.params - 0.1 * mean, stats=stats), d.replace(params=d.params + mean, noise=noise)


def batch(i):
    return shard(np.cos(np.arange(48, dtype=np.float32) * (i + 1)).reshape(16, 3))


p_step = jax.pmap(train_step, axis_name="batch")
g0, d0 = State(step=0, params=jnp.ones(3), stats=jnp.ones(3)), Critic(params=jnp.ones(3), noise=jnp.zeros(()))
g, d = jax_utils.replicate(g0), jax_utils.replicate(d0)
for i in range(3):
    g, d = p_step(g, d, batch(i))
RESULT = {"g": g.stats, "d": d.noise, "gp": g.params[0], "dp": d.params[0]}
