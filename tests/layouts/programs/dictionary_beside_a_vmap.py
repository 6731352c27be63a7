"""What is vmapped in one place is called as it is in another, and changes what it is given."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def loss_of(w, x):
    return jnp.mean((x @ w - 1) ** 2)


def data(i):
    return shard(jnp.asarray(np.sin(np.arange(96, dtype=np.float32) + i)).reshape(32, 3))


def update(params, row):
    params["w"] = params["w"] + 0.01 * row
    return row.sum()


@functools.partial(jax.pmap, axis_name="i")
def step(w, x):
    params = {"w": w}
    total = jax.vmap(update, in_axes=(None, 0))(params, x).sum() + update(params, x[0])
    grads = jax.lax.pmean(jax.grad(loss_of)(w, x), "i")
    return params["w"] - 0.1 * grads, total


w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
for i in range(3):
    w, loss = step(w, data(i))
RESULT = [np.asarray(w), np.asarray(loss)]
