"""States that are unpacked and built anew whose parameters the devices change apart, for good or now and then."""
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


class State(NamedTuple):
    params: Any
    average: Any
    key: Any
    count: Any = None


def step(state: State, x):
    params, average, key, count = state
    key, noise = jax.random.split(key)
    params = params - 0.1 * (params - x + jax.random.normal(noise, params.shape))
    return State(params, 0.9 * average + 0.1 * params, key, count), jax.lax.pmean(params.sum(), "i")


def synchronised(state: State):
    params, average, key, count = state
    return State(jax.lax.pmean(params, "i"), average, key=key, count=count)


p_step = jax.pmap(step, axis_name="i")
p_sync = jax.pmap(synchronised, axis_name="i")


def main():
    n = jax.local_device_count()
    params, average = jax_utils.replicate((jnp.arange(3.0), jnp.zeros(3)))
    state = State(params, average, jax.random.split(jax.random.PRNGKey(0), n))
    found = []
    for i in range(4):
        x = np.arange(n * 3, dtype=np.float32).reshape(n, 3)
        state, loss = p_step(state, x)
        found += [float(loss[0]), state.params[3], state.average]
        if i % 2:
            state = p_sync(state)
            found += [state.params[0], state.params[1], state.average[1]]
    return found


RESULT = [np.asarray(x) for x in jax.tree.leaves(main())]
