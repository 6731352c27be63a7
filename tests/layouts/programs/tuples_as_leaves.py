"""Tuples that a map over trees takes for leaves, or leaves another tree of."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

p_own = jax.pmap(lambda x: x + jax.lax.axis_index("i"), axis_name="i")
p_same = jax.pmap(lambda x: jax.lax.pmean(x, "i"), axis_name="i")


def main():
    pair = (jnp.arange(3.0), jnp.ones(3))
    whole = jax.tree.map(lambda p: p[0] - p[1], pair, is_leaf=lambda x: isinstance(x, tuple))
    whole = jax_utils.replicate(whole)
    found = [whole[0], p_same(whole)[1], p_own(whole), whole.shape]
    pairs = jax.tree.map(lambda x: (x, x + 1), pair)
    first, second = jax_utils.replicate(pairs)
    found += [p_same(first[0])[0], p_own(second[1]), first[1][2]]
    none = jax.tree.map(lambda x: None if x is None else x * 2, (None, pair[0]), is_leaf=lambda x: x is None)
    none = jax_utils.replicate(none)
    found += [p_own(none[1]), none[1][3], none[0] is None]
    return found


RESULT = [np.asarray(x) for x in jax.tree.leaves(main())]
