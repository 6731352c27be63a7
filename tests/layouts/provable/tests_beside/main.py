"""Tests under marks use the helpers of a program, and a function that runs when the program ends does as well."""
import atexit
import functools
import jax
import jax.numpy as jnp
import numpy as np
from helpers import get_first, replicate, split


@functools.partial(jax.pmap, axis_name="batch")  # expect: replicated, split -> replicated
def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grad, "batch")


@atexit.register
def say_goodbye():
    get_first(step(replicate(jnp.zeros(3)), split(np.ones((16, 3), np.float32))))


def main():
    w = replicate(jnp.ones(3))
    for i in range(3):
        w = step(w, split(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)))
    return get_first(w)


RESULT = main()
