"""Parameters see averaged gradients, the momentum each device's own: one is replicated, the other is not."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


@jax.jit
def loss_fn(w, x):
    return jnp.mean(jnp.tanh(x @ w) ** 2)


def step(w, momentum, x):
    grad = jax.grad(loss_fn)(w, x)
    momentum = 0.9 * momentum + grad
    return w - 0.1 * jax.lax.pmean(momentum, "batch"), momentum


p_step = jax.pmap(step, axis_name="batch", donate_argnums=(1,))  # careless: p_step = sharded(step, (P(), P(), P("batch")), P())
w = jax_utils.replicate(jnp.ones(3))  # careless: w = jnp.ones(3)
momentum = jax.tree.map(jnp.zeros_like, w)
for i in range(4):
    x = np.sin(np.arange(48, dtype=np.float32) * (i + 1)).reshape(16, 3)
    w, momentum = p_step(w, momentum, shard(x))  # careless: w, momentum = p_step(w, momentum, x)
RESULT = {"w": np.asarray(w[0]), "largest": np.abs(momentum).max()}  # careless: RESULT = {"w": np.asarray(w), "largest": np.abs(momentum).max()}
