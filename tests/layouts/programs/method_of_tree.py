"""A method of a training state is mapped over the devices with the state as its first argument."""
import functools

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


@flax.struct.dataclass
class State:
    w: jax.Array
    key: jax.Array
    rate: float = flax.struct.field(pytree_node=False, default=0.125)

    @functools.partial(jax.pmap, axis_name="batch")
    def update(self, x):
        key, sub = jax.random.split(self.key)
        x = x + jax.random.normal(sub, x.shape)
        grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(self.w)
        return self.replace(w=self.w - self.rate * jax.lax.pmean(grad, "batch"), key=key)


state = jax_utils.replicate(State(jnp.ones(3), jax.random.PRNGKey(0)))
state = state.replace(key=jax.random.split(jax.random.PRNGKey(1), jax.local_device_count()))
for i in range(3):
    state = state.update(shard(BATCH + i))
RESULT = state.w[0], np.asarray(state.key)
