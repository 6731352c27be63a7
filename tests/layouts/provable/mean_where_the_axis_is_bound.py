"""A mean that is taken where an axis is bound, and left out elsewhere, as functions of both worlds do."""

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


def wrap_if_mapped(reduce):
    def reduced(x):
        try:
            jax.lax.axis_index("i")
            return reduce(x)
        except NameError:
            return x

    return reduced


pmap = functools.partial(jax.pmap, axis_name="i")
mean_if_mapped = wrap_if_mapped(functools.partial(jax.lax.pmean, axis_name="i"))


@pmap  # expect: replicated, split -> replicated, replicated
def step(w, x):
    loss, grads = mean_if_mapped(jax.value_and_grad(loss_of)(w, x))
    return w - 0.1 * grads, loss


w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
for i in range(3):
    w, loss = step(w, data(i))
RESULT = [jax_utils.unreplicate(w), jax_utils.unreplicate(loss)]
