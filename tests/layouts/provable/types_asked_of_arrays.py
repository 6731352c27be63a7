"""The host asks whether what a map gives is an array: it is one of JAX, stacked or not."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(w, x):
    grads = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grads, "i"), jax.lax.pmean(jnp.mean(x), "i")


p_step = jax.pmap(step, axis_name="i")  # expect: replicated, split -> replicated, replicated
w = jax_utils.replicate(jnp.ones(3))
seen = []
for i in range(2):
    x = np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)
    w, loss = p_step(w, x.reshape(jax.local_device_count(), -1, 3))
    assert isinstance(w, jax.Array), "parameters are arrays"
    seen.append([isinstance(loss, (jax.Array, np.ndarray)), isinstance(loss, float), isinstance(w, dict)])
    if isinstance(loss, jax.Array):
        seen.append(float(loss[0]))
RESULT = {"seen": seen, "w": jax_utils.unreplicate(w)}
