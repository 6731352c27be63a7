"""A helper that takes the first slice is given to another function, and called for a list as well."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def first(x):
    return x[0]


def apply(function, values):
    return [function(value) for value in values]


p_double = jax.pmap(lambda x: jax.lax.pmean(x * 2, "batch"), axis_name="batch")
w = jax_utils.replicate(jnp.arange(3.0))
doubled = p_double(w)
taken = apply(first, [doubled, p_double(doubled)])
rows = np.arange(12.0).reshape(4, 3)
RESULT = [[np.asarray(one).tolist() for one in taken], np.asarray(first(rows)).tolist(), first([7, 8])]
