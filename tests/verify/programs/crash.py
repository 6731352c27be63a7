# mypy: ignore-errors
"""A program whose mapped function calls back into Python, where the rewritten program aborts."""

import os  # noqa: F401 - the rewritten program uses it

import jax
import jax.numpy as jnp


def observe(x):
    return x


def body(x):
    return jax.pure_callback(observe, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


fine = jax.pmap(lambda x: x + 1)
step = jax.pmap(body)

x = fine(jnp.ones((jax.device_count(), 2)))
jax.block_until_ready(step(x))
