"""All maps are given a list of devices that arguments choose: a mesh of that list holds their arrays."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

BATCH = np.sin(np.arange(72, dtype=np.float32)).reshape(24, 3)


def step(w, x):
    grad = jax.grad(lambda w: ((x @ w - 1) ** 2).mean())(w)
    loss = jax.lax.psum(((x @ w) ** 2).mean(), "i")  # of means: tells how many devices there are
    return w - 0.1 * jax.lax.psum(grad, "i"), loss


def noisy(w, key):
    return w + jax.lax.pmean(jax.random.normal(key, w.shape), "i")


def main(count, debug):
    if debug:
        devices = [jax.local_devices()[0]]
    else:
        devices = jax.local_devices()[:count]
    p_step = jax.pmap(step, "i", devices=devices, donate_argnums=0)  # expect: replicated, split -> replicated, replicated
    p_noisy = jax.pmap(noisy, axis_name="i", devices=devices)  # expect: replicated, stacked -> replicated
    start = jnp.ones(3)
    w = jax.tree_util.tree_map(lambda x: jnp.stack([x] * len(devices)), start)
    w = p_noisy(w, jax.random.split(jax.random.PRNGKey(0), len(devices)))
    for _ in range(3):
        w, loss = p_step(w, BATCH.reshape((len(devices), -1) + BATCH.shape[1:]))
    return start, w[0], jax_utils.unreplicate(loss), loss.shape[0]


RESULT = main(6, debug=False)
