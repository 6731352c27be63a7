"""A state of averaged parameters and of what each device has alone, unpacked and built anew in nested scans."""
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


class State(NamedTuple):
    params: Any
    momentum: Any
    key: Any
    env: Any


def get_learner(rate):
    def act(state, _):
        params, momentum, key, env = state
        key, noise = jax.random.split(key)
        env = env * 0.9 + jax.random.normal(noise, env.shape) @ jnp.diag(params)
        return State(params, momentum, key, env), env

    def update(state: State, _):
        state, rows = jax.lax.scan(act, state, None, 3)
        params, momentum, key, env = state
        grads = jax.grad(lambda p: jnp.mean(jnp.square(rows @ p - 1.0)))(params)
        grads = jax.lax.pmean(grads, axis_name="i")
        momentum = 0.9 * momentum + grads
        params = params - rate * momentum
        return State(params, momentum, key, env), {"norm": jnp.abs(params).sum(), "env": env.sum()}

    def learner(state: State):
        return jax.lax.scan(update, state, None, 2)

    return learner


def main():
    n = len(jax.devices())
    learn = get_learner(0.1)
    learn = jax.pmap(learn, axis_name="i")  # expect: replicated, stacked, stacked -> replicated, stacked, stacked, stacked
    params, momentum = jax_utils.replicate((jnp.arange(3.0) / 3, jnp.zeros(3)))
    keys = jax.random.split(jax.random.PRNGKey(0), n)
    env = jnp.arange(n * 4 * 3.0).reshape((n, 4, 3)) / 99
    state = State(params, momentum, keys, env)
    norms = []
    for _ in range(3):
        state, metrics = learn(state)
        norms.append(np.asarray(metrics["env"]))
    return jax_utils.unreplicate(state.params), state.key, state.env, norms


RESULT = [np.asarray(x) for x in jax.tree.leaves(main())]
