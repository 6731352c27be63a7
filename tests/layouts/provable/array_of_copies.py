"""`jnp.array([x] * n)` and `np.stack` make replicated arrays as replicate does."""
import jax
import jax.numpy as jnp
import numpy as np
from flax.training.common_utils import shard

n_devices = jax.local_device_count()


def step(w, b, x):
    grad_w, grad_b = jax.grad(lambda w, b: jnp.mean((x @ w + b - 1) ** 2), argnums=(0, 1))(w, b)
    grad_w, grad_b = jax.lax.pmean((grad_w, grad_b), "batch")
    return w - 0.1 * grad_w, b - 0.1 * grad_b


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, replicated, split -> replicated, replicated
w = jnp.array([jnp.zeros(3)] * n_devices)
b = np.stack([np.zeros((), np.float32)] * n_devices)
biases = []
for i in range(3):
    w, b = p_step(w, b, shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)))
    biases.append(b[0])  # behind the loop, it may be NumPy's still
RESULT = {"w": w[0], "b": biases}
