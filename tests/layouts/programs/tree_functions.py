"""tree.leaves, tree.flatten, tree.structure, ravel_pytree and tree.reduce of a stacked tree."""
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

from jax.flatten_util import ravel_pytree

p_tree = jax.pmap(lambda p, x: {"a": step(p["a"], x), "b": p["b"]}, axis_name="batch")
p = p_tree(jax_utils.replicate({"a": jnp.ones(3), "b": jnp.zeros(())}), shard(BATCH))
leaves, structure = jax.tree.flatten(p)
flat, back = ravel_pytree(p)
RESULT = {
    "leaves": [leaf.shape for leaf in leaves],
    "flat": flat.shape,
    "sum": jax.tree.reduce(lambda s, x: s + x.sum(), p, 0.0),
    "first": jax.tree.unflatten(structure, [leaf[0] for leaf in leaves]),
    "all": jax.tree.all(jax.tree.map(lambda x: len(x) == 8, p)),
}
