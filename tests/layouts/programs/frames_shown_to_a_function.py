"""A frame goes to a function that reads its variables by a name that is put together."""

import functools
import inspect

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def loss_of(w, x):
    return jnp.mean((x @ w - 1) ** 2)


def data(i):
    return shard(jnp.asarray(np.sin(np.arange(96, dtype=np.float32) + i)).reshape(32, 3))


@functools.partial(jax.pmap, axis_name="i")
def step(w, x):
    loss, grads = jax.lax.pmean(jax.value_and_grad(loss_of)(w, x), "i")
    return w - 0.1 * grads, loss


def held(frame):
    return getattr(frame, "f_" + "locals")


def shapes():
    frame = inspect.currentframe()
    return [v.shape for f in inspect.getouterframes(frame) for n, v in held(f.frame).items() if n == "w"]


def trained():
    w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
    for i in range(3):
        w, loss = step(w, data(i))
    total = shapes()
    return [jax_utils.unreplicate(w), jax_utils.unreplicate(loss), total]


RESULT = trained()
