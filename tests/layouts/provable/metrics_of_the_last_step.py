"""One copy of the last step's metrics, taken behind a loop that has as many steps in each epoch."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def train_step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    metrics = jax.lax.pmean({"loss": loss, "grad": grad}, axis_name="batch")
    return w - 0.1 * metrics["grad"], metrics


p_train_step = jax.pmap(train_step, axis_name="batch")  # expect: replicated, split -> replicated, replicated


def main(epochs=3):
    data = np.sin(np.arange(96, dtype=np.float32)).reshape(32, 3)
    w = jax_utils.replicate(jnp.zeros(3))
    size = 16
    told = []
    for epoch in range(epochs):
        steps = 32 // size
        for step in enumerate(range(steps)):
            w, metrics = p_train_step(w, shard(data[step[0] * size : step[0] * size + size] + epoch))
        metrics = jax_utils.unreplicate(metrics)
        told.append({name: np.asarray(value) for name, value in metrics.items()})
    return told


RESULT = main()
