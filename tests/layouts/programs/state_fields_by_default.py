"""States some of whose fields hold their defaults, which have a slice for each device, or are nothing at all."""
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct


class State(NamedTuple):
    params: Any
    ids: Any = np.arange(8.0)
    extra: Any = None


@struct.dataclass
class Other:
    params: Any
    ids: Any = struct.field(default_factory=lambda: 2.0 * np.arange(8.0))


def step(state: State, x):
    params, ids, extra = state
    params = params - 0.1 * jax.lax.pmean(params * x, "i")
    return State(params, ids + 1, extra), params.sum() * ids


def unchanged(state: State, x):
    return state._replace(params=jax.lax.pmean(state.params * x, "i")), state.ids


def other(state: Other, x):
    return state.replace(params=jax.lax.pmean(state.params * x, "i")), state.ids * x.sum()


p_step = jax.pmap(step, axis_name="i")
p_unchanged = jax.pmap(unchanged, axis_name="i")
p_other = jax.pmap(other, axis_name="i")


def main():
    x = np.arange(24, dtype=np.float32).reshape(8, 3) / 9
    found = []
    for mapped in (p_step, p_unchanged):
        state = State(jax_utils.replicate(jnp.arange(3.0)))
        for _ in range(2):
            state, sums = mapped(state, x)
            found.append(sums)
        found.append(jax_utils.unreplicate(state.params))
    state = Other(params=jax_utils.replicate(jnp.arange(3.0)))
    for _ in range(2):
        state, sums = p_other(state, x)
        found.append(sums)
    return found, state.ids, jax_utils.unreplicate(state.params)


RESULT = [np.asarray(x) for x in jax.tree.leaves(main())]
