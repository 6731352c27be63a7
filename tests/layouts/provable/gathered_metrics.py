"""Metrics of clu's that each step gathers from all devices, merged on the host and computed at the end."""
import flax
import jax
import jax.numpy as jnp
import numpy as np
from clu import metrics
from flax import jax_utils
from flax.training.common_utils import shard


@flax.struct.dataclass
class TrainMetrics(metrics.Collection):
    loss: metrics.Average
    error: metrics.Average


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    w = w - 0.1 * jax.lax.pmean(grad, "batch")
    return w, TrainMetrics.gather_from_model_output(loss=loss, error=jnp.abs(x @ w - 1))


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated, replicated


def main():
    w = jax_utils.replicate(jnp.ones(3))
    seen = None
    for i in range(3):
        w, update = p_step(w, shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)))
        update = jax_utils.unreplicate(update)
        seen = update if seen is None else seen.merge(update)
    return {"w": jax_utils.unreplicate(w), **seen.compute()}


RESULT = main()
