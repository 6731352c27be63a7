"""Every consumer takes device 0's slice of a loss that varies: nothing else of it is ever seen."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grad, "batch"), loss


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split
w = jax_utils.replicate(jnp.zeros(3))
losses = []
for i in range(3):
    w, loss = p_step(w, shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)))
    losses.append(float(loss[0]))
RESULT = {"w": jax_utils.unreplicate(w), "losses": losses}
