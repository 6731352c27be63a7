"""The helpers that take arrays apart are compiled."""
from typing import Any, Dict, Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

S = TypeVar("S")


class Output(NamedTuple, Generic[S]):
    learner_state: S
    episode: Dict
    losses: Dict


class State(NamedTuple):
    params: Any
    key: Any
    hidden: Any
    env: Any


def get_learner():
    def step(state: State, _):
        params, key, hidden, env = state
        key, noise = jax.random.split(key)
        hidden = 0.5 * hidden + env
        env = env + 0.1 * jax.random.normal(noise, env.shape)
        loss, grads = jax.value_and_grad(lambda p: jnp.mean(jnp.square(hidden @ p - env.sum(-1))))(params)
        grads, loss = jax.lax.pmean((grads, loss), axis_name="batch")
        grads, loss = jax.lax.pmean((grads, loss), axis_name="device")
        return State(params - 0.1 * grads, key, hidden, env), (env.sum(), {"loss": loss})

    def learner(state: State) -> Output[State]:
        batched = jax.vmap(step, in_axes=(0, None), axis_name="batch")
        state, (episode, losses) = jax.lax.scan(batched, state, None, 2)
        return Output(learner_state=state, episode={"sum": episode}, losses=losses)

    return learner


def setup(key):
    n = len(jax.devices())
    learn = get_learner()
    learn = jax.pmap(learn, axis_name="device")  # expect: replicated, stacked, stacked -> replicated, stacked, stacked, stacked, stacked
    env = jax.random.normal(key, (n * 2 * 4, 3))
    reshape = lambda x: x.reshape((n, 2, 4) + x.shape[1:])
    env = jax.tree.map(reshape, env)
    whole = (jnp.arange(3.0), key, jnp.zeros((4, 3)))
    whole = jax.tree.map(lambda x: jnp.broadcast_to(x, (2, *x.shape)), whole)
    whole = jax_utils.replicate(whole, devices=jax.devices())
    params, keys, hidden = whole
    return learn, State(params, keys, hidden, env)


@jax.jit
def without_batch(x):
    return jax.tree.map(lambda x: x[:, 0, ...], x)


@jax.jit
def without(x, depth=2):
    return jax.tree.map(lambda x: x[(0,) * depth], x)


def main():
    learn, state = setup(jax.random.PRNGKey(1))
    evaluate = jax.pmap(lambda p, x: (p * x).sum())  # expect: replicated, stacked -> stacked
    found = []
    for i in range(3):
        out = learn(state)
        jax.block_until_ready(out)
        trained = without_batch(state.params)
        x = np.arange(24, dtype=np.float32).reshape(jax.local_device_count(), -1) / (i + 1)
        found += [evaluate(trained, x), out.episode["sum"].mean(), out.losses["loss"].mean()]
        if i != 1:
            found.append(without(out.learner_state))
        state = out.learner_state
    return found


RESULT = [np.asarray(x) for x in jax.tree.leaves(main())]
