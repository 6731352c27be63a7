"""Training and evaluation share the state."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def loss_fn(w, x):
    return jnp.mean((x @ w - 1) ** 2)


def train_step(w, x):
    return w - 0.1 * jax.lax.pmean(jax.grad(loss_fn)(w, x), "batch")


def eval_step(w, x):
    return jax.lax.pmean(loss_fn(w, x), "batch")


p_train_step = jax.pmap(train_step, "batch", donate_argnums=(0,))  # expect: replicated, split -> replicated
p_eval_step = jax.pmap(eval_step, "batch")  # expect: replicated, split -> replicated
w = jax_utils.replicate(jnp.zeros(3))
losses = []
for i in range(3):
    batch = shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3))
    w = p_train_step(w, batch)
    losses.append(float(p_eval_step(w, batch)[0]))
RESULT = {"losses": losses, "w": jax_utils.unreplicate(w)}
