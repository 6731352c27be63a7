"""Losses of single devices, averaged on the host: the mean of eight numbers, not device 0's."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def train_step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean(jnp.square(x @ w - 1)))(w)
    return w - 0.05 * jax.lax.pmean(grad, "batch"), loss


p_train_step = jax.pmap(train_step, axis_name="batch")  # careless: p_train_step = sharded(train_step, (P(), P("batch")), P())
w = jax_utils.replicate(jnp.zeros(3))  # careless: w = jnp.zeros(3)
losses = []
for i in range(3):
    x = np.cos(np.arange(48, dtype=np.float32) + i).reshape(16, 3)
    w, loss = p_train_step(w, shard(x))  # careless: w, loss = p_train_step(w, x)
    losses.append(np.mean(loss))
RESULT = {"losses": losses, "w": w[0]}  # careless: RESULT = {"losses": losses, "w": w}
