"""A tuple of which one element is stacked in a way that is not recognised and the other by replicate, restored from bytes."""
import functools

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils

N = jax.local_device_count()
X = np.arange(8 * 2 * 3, dtype=np.float32).reshape(16, 3)


@functools.partial(jax.pmap, axis_name="batch")
def step(state, batch):
    return state[0], state[1] + jax.lax.pmean(batch.sum(), "batch")


class Trainer:
    def __init__(self):
        self.state = (jax.tree.map(lambda x: jnp.repeat(jnp.asarray(x)[None], N, axis=0), jnp.linspace(0.1, 1.0, 3)), jax_utils.replicate(jnp.linspace(0.1, 1.0, 3)))

    def run(self):
        saved = jax_utils.unreplicate(self.state)
        self.state = jax_utils.replicate(flax.serialization.from_bytes(saved, flax.serialization.to_bytes(saved)))
        self.state = step(self.state, common_utils.shard(X))
        return jax_utils.unreplicate(self.state)


RESULT = [Trainer().run()]
