"""A meter adds up numbers that were fetched, and keeps the first of them."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

N = jax.local_device_count()


def batches():
    for i in range(3):
        yield np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)


def step(w, x, rate):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - rate * jax.lax.pmean(grad, "i"), jax.lax.pmean(loss, "i")


class Meter:
    def __init__(self):
        self.total, self.first = None, None

    def add(self, value):
        if self.total is None:
            self.total = self.first = value
        else:
            self.total += value


p_step = jax.pmap(step, axis_name="i", in_axes=(0, 0, None))
w = jax_utils.replicate(jnp.ones(3))
meters = {"loss": Meter()}
for x in batches():
    w, loss = p_step(w, shard(x), 0.1)
    fetched = {"loss": np.array(jax.device_get(loss))}
    for name, meter in meters.items():
        meter.add(fetched[name][0])
RESULT = [float(meters["loss"].total), float(meters["loss"].first)]
