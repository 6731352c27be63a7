"""A named tuple of results beside another, with a donated state, and other maps in the file."""
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


class Output(NamedTuple):
    state: Any
    loss: Any


class Transition(NamedTuple):
    obs: Any
    reward: Any


class State(NamedTuple):
    params: Any
    buffer: Any


def step(state: State):
    params, buffer = state
    grads = jax.lax.pmean(jax.grad(lambda p: jnp.sum(jnp.square(p * buffer.mean())))(params), "i")
    buffer = jnp.roll(buffer, 1) + params[0]
    new = State(params=params - 0.01 * grads, buffer=buffer)
    return Output(state=new, loss=jax.lax.pmean(buffer.mean(), "i")), Transition(buffer, buffer.sum())


p_step = jax.pmap(step, axis_name="i", donate_argnums=(0,))  # expect: replicated, stacked -> replicated, stacked, replicated, stacked, stacked
p_double = jax.pmap(lambda x: x * 2)  # expect: stacked -> stacked


def main():
    n = jax.local_device_count()
    state = State(jax_utils.replicate(jnp.arange(3.0)), jnp.arange(n * 4.0).reshape(n, 4))
    found = []
    for _ in range(3):
        out, transition = p_step(state)
        found += [float(out.loss[0]), p_double(transition.obs), transition.reward]
        state = out.state
    return found, jax_utils.unreplicate(state.params), state.buffer


RESULT = [np.asarray(x) for x in jax.tree.leaves(main())]
