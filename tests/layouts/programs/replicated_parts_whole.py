"""Tuples replicated at once whose parts differ later on and that are used as a whole, too."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

p_own = jax.pmap(lambda x: x + jax.lax.axis_index("i"), axis_name="i")
p_same = jax.pmap(lambda x: jax.lax.pmean(x, "i"), axis_name="i")
p_pair = jax.pmap(lambda pair: (jax.lax.pmean(pair[0], "i"), pair[1] * 2), axis_name="i")


def total(pair):
    return sum(x.sum() for x in pair)


def first_of(pair):
    return pair[0][0]


def main():
    found = []
    pair = (jnp.arange(3.0), jnp.ones(3))
    pair = jax_utils.replicate(pair)
    found += [total(pair), first_of(pair), pair[0][3], len(pair), len(pair[1])]
    a, b = pair
    for _ in range(2):
        a, b = p_same(a), p_own(b)
    found += [a[0], b]
    a, b = jax_utils.replicate((jnp.arange(3.0), jnp.ones(3)))
    for _ in range(2):
        a, b = p_pair((a, p_own(b)))
    found += [a[0], a[5], b]
    for x in jax_utils.replicate((jnp.arange(3.0), jnp.ones(3))):
        found.append(p_own(x)[2])
    a, *rest = jax_utils.replicate((jnp.arange(3.0), jnp.ones(3), jnp.zeros(())))
    found += [p_same(a)[0], p_own(rest[0]), rest[1].shape]
    several = jax_utils.replicate((jnp.arange(3.0), None, jnp.ones(3), None))
    found += [p_same(several[0])[0], p_own(several[2]), len(several)]
    either = jnp.ones(3) if len(found) > 99 else (jnp.ones(3), jnp.zeros(3))
    either = jax_utils.replicate(either)
    found += [p_own(either[0]), p_same(either[1])[0]]
    return found


RESULT = [np.asarray(x) for x in jax.tree.leaves(main())]
