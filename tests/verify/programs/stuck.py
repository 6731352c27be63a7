# mypy: ignore-errors
"""One collective that every device reaches, and one that a predicate guards; the rewritten program breaks it."""

import sys

import jax
import jax.numpy as jnp
from jax import lax


def guarded(x):
    everybody = lax.axis_index("i") >= 0
    # jaxmigrate is right: it hangs, on purpose
    return lax.cond(everybody, lambda v: lax.psum(v, "i"), lambda v: v * 2.0, x)  # jaxmigrate: ignore[JM301]


warm_up = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")
step = jax.pmap(guarded, axis_name="i")

x = warm_up(jnp.arange(jax.device_count(), dtype=jnp.float32))
x = step(x)
sys.stdout.write(f"{x}\n")
