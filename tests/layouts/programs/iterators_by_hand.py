"""iter, next with a default, a sentinel, zip_longest and tee."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")

import itertools

a = jax_utils.replicate(jnp.ones(3))
b = p_step(a, shard(BATCH))
it = iter([a, b])
one = next(it)
two = next(it, None)
three = next(it, a)
left, right = itertools.tee([b, a])
stack = [b, a]
popped = list(iter(stack.pop, None)) if False else [stack.pop() for _ in range(2)]
longest = list(itertools.zip_longest([a], [b, b]))
RESULT = [np.asarray(x).sum() for x in (one, two, three, *left, *popped, longest[1][1])] + [next(right)[0]]
