"""A function of one leaf is mapped over a tree of slices, passed on to a helper, and called for the first of some rows."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def leaf(x):
    return x[0]


def take(state):
    return jax.tree.map(leaf, state)


def apply(function, tree):
    return jax.tree.map(function, tree)


p_step = jax.pmap(lambda s: jax.tree.map(lambda x: jax.lax.pmean(x + 1, "batch"), s), axis_name="batch")
state = p_step(jax_utils.replicate({"a": jnp.arange(3.0), "b": jnp.ones((2, 2))}))
shown = take(state)
again = apply(leaf, p_step(state))
rows = np.arange(12.0).reshape(4, 3)
RESULT = [
    jax.tree.map(lambda x: np.asarray(x).tolist(), shown),
    jax.tree.map(lambda x: np.asarray(x).tolist(), again),
    take({"rows": rows})["rows"].tolist(),
    leaf(rows).tolist(),
]
