"""A program looks at each device by a name that other code has for lists that it changes."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

on_gpu = any([x.platform == "gpu" for x in jax.local_devices()])
for x in jax.devices():
    print(x.platform, on_gpu)


def step(w, batch):
    grads = jax.grad(lambda w: jnp.mean((batch @ w) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grads, "batch")


def error(w, batch):
    return jax.lax.pmean(jnp.mean((batch @ w) ** 2), "batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated
p_error = jax.pmap(error, axis_name="batch", devices=jax.devices())  # expect: replicated, split -> replicated
w = jax_utils.replicate(jnp.ones(3))
x = []
for i in range(2):
    batch = np.sin(np.arange(48, dtype=np.float32) + i).reshape(jax.local_device_count(), -1, 3)
    w = p_step(w, batch)
    x.append(float(p_error(w, batch)[0]))
x.reverse()
RESULT = {"x": x, "w": jax_utils.unreplicate(w)}
