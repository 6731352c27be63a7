"""A mapped method of a state of which one field is a key of each device."""
from functools import partial
from typing import Any
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct
from flax.training.common_utils import shard

BATCHES = [np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3) for i in range(3)]


class Model(struct.PyTreeNode):
    w: Any
    rng: Any

    @partial(jax.pmap, axis_name="i")  # expect: replicated, stacked, split -> replicated, stacked
    def update(self, x):
        rng, key = jax.random.split(self.rng)
        noise = jax.random.normal(key, x.shape)
        grad = jax.grad(lambda w: jnp.mean(((x + noise) @ w) ** 2))(self.w)
        return self.replace(w=self.w - 0.25 * jax.lax.pmean(grad, "i"), rng=rng)


model = jax_utils.replicate(Model(jnp.ones(3), jax.random.PRNGKey(0)))
model = model.replace(rng=jax.random.split(jax.random.PRNGKey(1), jax.local_device_count()))
for x in BATCHES:
    model = model.update(shard(x))
RESULT = jax_utils.unreplicate(model.w)
