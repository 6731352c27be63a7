"""States that are unpacked in another order than they are built in, and two classes of states with the same fields."""
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


class One(NamedTuple):
    params: Any
    count: Any


class Other(NamedTuple):
    count: Any
    params: Any


def swapped(state: One):
    count, params = state
    return One(jax.lax.pmean(count * 0.5, "i"), params + jax.lax.axis_index("i"))


def either(state):
    first, second = state
    return type(state)(jax.lax.pmean(first + second, "i"), second + jax.lax.axis_index("i"))


def crossed(state: One):
    params, count = state
    return Other(params, jax.lax.pmean(count, "i"))


p_swapped = jax.pmap(swapped, axis_name="i")
p_either = jax.pmap(either, axis_name="i")
p_crossed = jax.pmap(crossed, axis_name="i")


def main():
    found = []
    one = One(*jax_utils.replicate((jnp.arange(3.0), jnp.ones(3))))
    for _ in range(3):
        one = p_swapped(one)
    found.append(one)
    one = One(*jax_utils.replicate((jnp.arange(3.0), jnp.ones(3))))
    other = Other(jax_utils.replicate(jnp.arange(3.0)), jax_utils.replicate(jnp.ones(3)))
    for _ in range(2):
        one, other = p_either(one), p_either(other)
    found += [one, other]
    one = One(jax_utils.replicate(jnp.arange(3.0)), jax_utils.replicate(jnp.ones(3)))
    for _ in range(3):
        other = p_crossed(one)
        one = One(other.count, other.params)
    found += [jax_utils.unreplicate(one.params), one.count]
    return found


RESULT = [np.asarray(x) for x in jax.tree.leaves(main())]
