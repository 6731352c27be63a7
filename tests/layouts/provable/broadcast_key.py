"""A key for all devices through in_axes=None, folded in the body."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(w, x, key):
    key = jax.random.fold_in(key, jax.lax.axis_index("batch"))
    noise = jax.random.normal(key, x.shape)
    grad = jax.grad(lambda w: jnp.mean(((x + noise) @ w - 1) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch", in_axes=(0, 0, None))  # expect: replicated, split, broadcast -> replicated
w = jax_utils.replicate(jnp.zeros(3))
for i in range(3):
    w = p_step(w, shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)), jax.random.PRNGKey(i))
RESULT = w[0]
