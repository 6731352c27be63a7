"""flax's `pad_shard_unpad` in evaluation: parameters as they are, a last batch that is not divisible, two kinds of results."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.jax_utils import pad_shard_unpad
from flax.training.common_utils import get_metrics, shard


def loss_of(params, x):
    return jnp.mean((x @ params["w"] + params["b"] - 1) ** 2)


def train_step(params, x):
    loss, grads = jax.value_and_grad(loss_of)(params, x)
    grads, loss = jax.lax.pmean((grads, loss), "batch")
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), {"loss": loss}


def eval_step(params, x):
    return jax.lax.pmean({"loss": loss_of(params, x)}, axis_name="batch")


def predict(params, x):
    return jnp.tanh(x @ params["w"] + params["b"])


p_train = jax.pmap(train_step, "batch", donate_argnums=(0,))  # expect: replicated, split -> replicated, replicated
p_eval = jax.pmap(eval_step, "batch")  # expect: replicated, stacked -> replicated
p_predict = jax.pmap(predict)  # expect: replicated, stacked -> stacked
state = jax_utils.replicate({"w": jnp.linspace(0.1, 1.0, 3), "b": jnp.zeros(())})
ROWS = np.sin(np.arange(54, dtype=np.float32)).reshape(18, 3)
train_metrics, eval_metrics, predictions = [], [], []
for i in range(3):
    state, metric = p_train(state, shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)))
    train_metrics.append(metric)
    for rows in (ROWS[:16], ROWS[16:]):
        metrics = pad_shard_unpad(p_eval, static_return=True)(state, rows, min_device_batch=2)
        eval_metrics.append(metrics)
        predictions.append(pad_shard_unpad(p_predict)(state, rows))
RESULT = [get_metrics(train_metrics), get_metrics(eval_metrics), predictions, jax_utils.unreplicate(state)]
