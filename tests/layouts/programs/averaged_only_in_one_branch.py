"""Gradients are averaged when a flag says so, and the flag is false."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


@functools.partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=(2,))
def step(w, x, sync):
    grad = jax.grad(lambda w: jnp.mean((x * w - 1) ** 2))(w)
    if sync:
        grad = jax.lax.pmean(grad, "batch")
    return w - 0.1 * grad


w = jax_utils.replicate(jnp.ones(3))
x = np.sin(np.arange(24, dtype=np.float32)).reshape(8, 3)
for i in range(3):
    w = step(w, x, False)
apart = w.std(0)
w = step(w, x, True)
RESULT = {"apart": apart, "w": w}
