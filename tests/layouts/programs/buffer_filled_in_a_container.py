"""What stands in the containers behind the view of a buffer fills the buffer anew, before the map reads the view."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

n = len(jax.devices())
buffer = np.zeros((4 * n, 3), np.float32)
weights = jax_utils.replicate(jnp.ones(3))


def filled(i):
    buffer[...] = i + 1
    return weights


class Filling(dict):
    def __getitem__(self, key):
        buffer[...] = 10 * key
        return weights


def predict(batch, variables):
    return jax.lax.psum((batch @ variables["w"]).sum(), "i")


def predict_one(batch, pair):
    return jax.lax.psum((batch @ pair[0]).sum(), "i")


p_predict = jax.pmap(predict, axis_name="i")
p_one = jax.pmap(predict_one, axis_name="i")
held = Filling()
sums = []
for i in range(3):
    sums.append(p_predict(buffer.reshape((n, -1) + buffer.shape[1:]), dict(w=filled(i)))[0])
    sums.append(p_predict(buffer.reshape((n, -1) + buffer.shape[1:]), {"w": filled(i + 5)})[0])
    sums.append(p_one(buffer.reshape((n, -1) + buffer.shape[1:]), (filled(i + 7), weights))[0])
    sums.append(p_one(buffer.reshape((n, -1) + buffer.shape[1:]), (held[i], weights))[0])
RESULT = {"sums": jnp.stack(sums)}
