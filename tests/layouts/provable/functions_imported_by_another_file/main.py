"""Functions of libraries by way of a file of the program's own, which imports only these."""
import jax
import numpy as np
import utils
from flax import jax_utils
from flax.training.common_utils import shard


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: ((x @ w - 1) ** 2).mean())(w)
    return w - 0.1 * jax.lax.pmean(grad, "batch"), jax.lax.pmean({"loss": loss}, "batch")


p_step = jax.pmap(step, axis_name="batch", donate_argnums=0)  # expect: replicated, split -> replicated, replicated
w = jax_utils.replicate(np.ones(3, np.float32))
history, kept = [], []
for i in range(3):
    kept.append(utils.asarray(w)[0])
    w, metrics = p_step(w, shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)))
    history.append(metrics)
RESULT = [utils.get_metrics(history), kept, utils.summary(history), jax_utils.unreplicate(w)]
