"""The plainest trainer there is: replicate, shard, a decorated step, unreplicate."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


@functools.partial(jax.pmap, axis_name="batch")  # expect: replicated, split -> replicated, replicated
def train_step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    grad = jax.lax.pmean(grad, "batch")
    return w - 0.1 * grad, jax.lax.pmean(loss, "batch")


w = jax_utils.replicate(jnp.zeros(3))
losses = []
for i in range(3):
    w, loss = train_step(w, shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)))
    losses.append(loss[0])
RESULT = {"w": jax_utils.unreplicate(w), "losses": losses}
