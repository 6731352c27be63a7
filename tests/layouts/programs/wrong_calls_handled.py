"""Calls with too many or too few arguments: raised and handled, or right by defaults, stars and keywords."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

X = np.arange(24, dtype=np.float32).reshape(8, 3) / 7
W = jax_utils.replicate(jnp.ones(3))


def step(w, x):
    return w - 0.125 * jax.lax.pmean(x * w, "batch")


def with_default(w, x, scale=2.0):
    return w - jax.lax.pmean(x * w * scale, "batch")


def with_star(w, *xs):
    return w - jax.lax.pmean(sum(xs), "batch")


def with_keyword(w, x, *, scale=0.5):
    return w - jax.lax.pmean(x * w * scale, "batch")


def counted(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        return fn(*args[:2])

    return wrapper


@counted
def wrapped(w, x):
    return w - jax.lax.pmean(x * w, "batch")


p_step = jax.pmap(step, axis_name="batch")
p_default = jax.pmap(with_default, axis_name="batch")
p_star = jax.pmap(with_star, axis_name="batch")
p_keyword = jax.pmap(with_keyword, axis_name="batch")
p_wrapped = jax.pmap(wrapped, axis_name="batch")


def attempt(fn, w, x):
    try:
        return fn(w, x, x)
    except Exception:
        return fn(w, x)


def unhandled(fn, w, x):
    return fn(w, x, x)


def handled(fn, w, x):
    try:
        return unhandled(fn, w, x)
    except Exception:
        return w


RESULT = [
    attempt(p_step, W, X),
    attempt(p_star, W, X),
    attempt(p_default, W, jnp.ones((8, 3))),
    p_default(W, X)[0],
    p_star(W, X, X, X)[0],
    p_keyword(W, X)[0],
    p_wrapped(W, X, X)[0],
    handled(p_step, W, X)[0],
    handled(p_wrapped, W, X)[0],
]
RESULT = [np.asarray(r) for r in RESULT]
