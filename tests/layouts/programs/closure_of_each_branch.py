"""One of two functions of a name is defined, and called before the state is replicated."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def first(tree):
    return jax.tree.map(lambda x: x[0], tree)


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


def by_if(p_step):
    w = jnp.linspace(0.1, 1.0, 3)
    if len(BATCH):

        def look():
            return first(w)

    else:

        def look():
            return 0

    seen = look()
    w = p_step(jax_utils.replicate(w), shard(BATCH))
    return seen, look()


def by_try(p_step):
    w = jnp.linspace(0.1, 1.0, 3)

    def look():
        return first(w)

    try:
        int("x")

        def look():
            return 0

    except ValueError:
        pass
    seen = look()
    w = p_step(jax_utils.replicate(w), shard(BATCH))
    return seen, look()


def by_match(p_step):
    w = jnp.linspace(0.1, 1.0, 3)
    match len(BATCH):
        case 16:

            def look():
                return first(w)

        case _:

            def look():
                return 0

    seen = look()
    w = p_step(jax_utils.replicate(w), shard(BATCH))
    return seen, look()


RESULT = [
    by_if(jax.pmap(step, axis_name="batch")),
    by_try(jax.pmap(step, axis_name="batch")),
    by_match(jax.pmap(step, axis_name="batch")),
]
