"""flax's get_metrics over a list of steps."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import get_metrics, shard


def train_step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    metrics = jax.lax.pmean({"loss": loss, "norm": jnp.sum(w**2)}, axis_name="batch")
    return w - 0.1 * jax.lax.pmean(grad, axis_name="batch"), metrics


p_train_step = jax.pmap(train_step, axis_name="batch")  # expect: replicated, split -> replicated, replicated
w = jax_utils.replicate(jnp.zeros(3))
history = []
for i in range(4):
    w, metrics = p_train_step(w, shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)))
    history.append(metrics)
history = get_metrics(history)
RESULT = {"mean": jax.tree.map(lambda x: x.mean(), history), "loss": history["loss"]}
