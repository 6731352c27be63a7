"""A helper that gives each device a copy is applied by another one, and called for what the host counts."""
import jax
import jax.numpy as jnp
import numpy as np


def copies(x):
    return jnp.stack([x] * jax.local_device_count())


def each(function, *values):
    return tuple(function(value) for value in values)


p_add = jax.pmap(lambda w, b: jax.lax.pmean(w + b, "batch"), axis_name="batch")
w, b = each(copies, jnp.arange(3.0), jnp.ones(3))
total = p_add(w, b)
counted = copies(jnp.arange(2.0))
RESULT = [np.asarray(total[0]).tolist(), counted.shape, float(counted.sum()), [float(c[1]) for c in counted]]
