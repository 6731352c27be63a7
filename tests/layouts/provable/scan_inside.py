"""Several updates in a scan inside the mapped function."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def steps(w, xs):
    def one(w, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
        return w - 0.1 * jax.lax.pmean(grad, "batch"), jax.lax.pmean(jnp.sum(w), "batch")

    return jax.lax.scan(one, w, xs)


p_steps = jax.pmap(steps, axis_name="batch")  # expect: replicated, split -> replicated, replicated
xs = np.sin(np.arange(192, dtype=np.float32)).reshape(32, 2, 3)
w, sums = p_steps(jax_utils.replicate(jnp.zeros(3)), xs.reshape((jax.local_device_count(), -1) + xs.shape[1:]))
RESULT = {"w": w[0], "sums": sums[0]}
