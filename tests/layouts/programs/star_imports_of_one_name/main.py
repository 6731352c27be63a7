"""Star imports bring in names that others have, too: of two modules, below a def, and through another module."""

from reductions import *
from locals_of_devices import *  # which has `reduced`, too

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard
from outer import *

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def brought(grad):
    return jax.lax.pmean(grad, "batch")


from later import *  # which has `brought`, too


def gradient(w, x):
    return jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)


def trained(p_step, p_total):
    w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
    for _ in range(2):
        w = p_step(w, shard(BATCH))
    again = jax_utils.replicate(jax_utils.unreplicate(w))
    return jax_utils.unreplicate(p_total(again))


def first(w, x):
    return w - 0.1 * reduced(gradient(w, x))


def second(w, x):
    return w - 0.1 * brought(gradient(w, x))


def third(w, x):
    return w - 0.1 * raised(jax.lax.pmean(gradient(w, x), "batch"))


def total(w):
    return jax.lax.psum(w, "batch")


RESULT = [
    trained(jax.pmap(first, axis_name="batch"), jax.pmap(total, axis_name="batch")),
    trained(jax.pmap(second, axis_name="batch"), jax.pmap(total, axis_name="batch")),
    trained(jax.pmap(third, axis_name="batch"), jax.pmap(total, axis_name="batch")),
]
