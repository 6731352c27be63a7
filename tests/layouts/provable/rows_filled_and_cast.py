"""The rows of a batch are filled one by one; what is handed out is a copy of another type."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

N = jax.local_device_count()
RNG = np.random.RandomState(0)


def examples(size):
    images = RNG.normal(0.0, 0.3, (size, 3))
    for image, label in zip(images, range(size)):
        image[label % 3] += 1.0
    return {"image": images.astype(np.float32)}


def batches(count):
    for _ in range(count):
        yield jax.tree_util.tree_map(lambda x: x.reshape((N, -1) + x.shape[1:]), examples(16))


def step(w, batch):
    grad = jax.grad(lambda w: jnp.mean((batch["image"] @ w - 1) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated
w = jax_utils.replicate(jnp.ones(3))
for batch in batches(3):
    w = p_step(w, batch)
RESULT = [jax_utils.unreplicate(w)]
