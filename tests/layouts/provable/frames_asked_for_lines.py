"""A warning looks at the frames around it for the place where it is called, and for nothing else."""

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


def deprecated(name):
    caller = inspect.getouterframes(inspect.currentframe())[1]
    line = caller.lineno
    return f"{name} in {caller.function}, line {line > 0}, {inspect.currentframe().f_code.co_name}"


@functools.partial(jax.pmap, axis_name="i")  # expect: replicated, split -> replicated, replicated
def step(w, x):
    loss, grads = jax.lax.pmean(jax.value_and_grad(loss_of)(w, x), "i")
    return w - 0.1 * grads, loss


def trained():
    w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
    for i in range(3):
        w, loss = step(w, data(i))
    return [jax_utils.unreplicate(w), jax_utils.unreplicate(loss), deprecated("step")]


RESULT = trained()
