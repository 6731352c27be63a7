"""Functions, a class and a generator name a function that is defined later, before the state is replicated."""

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


def by_a_function(p_step):
    w = jnp.linspace(0.1, 1.0, 3)

    def call():
        return look()

    calls = [call]

    def look():
        return first(w)

    seen = calls[0]()
    w = p_step(jax_utils.replicate(w), shard(BATCH))
    return seen, calls[0]()


def by_a_lambda(p_step):
    w = jnp.linspace(0.1, 1.0, 3)
    call = lambda: look()  # noqa: E731

    def look():
        return first(w)

    seen = call()
    w = p_step(jax_utils.replicate(w), shard(BATCH))
    return seen, call()


def by_a_class(p_step):
    w = jnp.linspace(0.1, 1.0, 3)

    class Caller:
        def call(self):
            return look()

    caller = Caller()

    def look():
        return first(w)

    seen = caller.call()
    w = p_step(jax_utils.replicate(w), shard(BATCH))
    return seen, caller.call()


def by_a_generator(p_step):
    w = jnp.linspace(0.1, 1.0, 3)
    calls = (look() for _ in range(2))

    def look():
        return first(w)

    seen = next(calls)
    w = p_step(jax_utils.replicate(w), shard(BATCH))
    return seen, next(calls)


RESULT = [
    by_a_function(jax.pmap(step, axis_name="batch")),
    by_a_lambda(jax.pmap(step, axis_name="batch")),
    by_a_class(jax.pmap(step, axis_name="batch")),
    by_a_generator(jax.pmap(step, axis_name="batch")),
]
