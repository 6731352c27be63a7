"""Parts of the first device's slice, taken in one subscript; what is taken before a state is donated stays."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


@functools.partial(jax.pmap, axis_name="i", donate_argnums=0)  # expect: replicated, split -> replicated, replicated
def step(w, x):
    grads = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grads, "i"), jax.lax.pmean((x @ w).mean(0), "i")


def main():
    n = jax.local_device_count()
    w = jax_utils.replicate(jnp.arange(12.0).reshape(4, 3))
    found = []
    for k in range(2):
        x = np.linspace(k, 1, n * 8, dtype=np.float32).reshape(n, 2, 4)
        w, means = step(w, x)
        found += [w[0, :2], w[0, :], w[0, -1, ..., None], w[0, 1, 2], means[0, 1], means[0, :1]]
        found += [jax.tree.map(lambda leaf: leaf[0, 1:], w)]
    return found


RESULT = [np.asarray(x) for x in main()]
