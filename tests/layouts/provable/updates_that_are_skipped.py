"""A state that a step gives back as it was where gradients are too large, with statistics that are each device's own."""
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training import train_state
from flax.training.common_utils import shard


class State(train_state.TrainState):
    batch_stats: Any


@functools.partial(jax.pmap, axis_name="batch")  # expect: replicated, stacked, split -> replicated, stacked, replicated
def step(state, x):
    def loss_fn(params):
        return jnp.mean((x @ params["w"] - 1) ** 2), 0.9 * state.batch_stats + 0.1 * x.mean(0)

    grads, stats = jax.grad(loss_fn, has_aux=True)(state.params)
    grads = jax.lax.pmean(grads, "batch")
    norm = optax.global_norm(grads)

    def update(_):
        return state.apply_gradients(grads=grads, batch_stats=stats)

    def skip(_):
        return state

    return jax.lax.cond(norm < 11, update, skip, None), norm


@functools.partial(jax.pmap, axis_name="batch")  # expect: replicated, stacked, split -> replicated, stacked
def counted(state, x):
    grads = jax.lax.pmean(jax.grad(lambda p: jnp.mean((x @ p["w"] - 1) ** 2))(state.params), "batch")
    return state.apply_gradients(grads=grads)


def main():
    start = train_state.TrainState.create(apply_fn=None, params={"w": jnp.ones(3)}, tx=optax.sgd(0.0625, 0.5))
    x = [np.arange(48, dtype=np.float32).reshape(16, 3) / n for n in (7, 40, 9)]
    found = []
    state = State.create(apply_fn=None, params={"w": jnp.ones(3)}, tx=optax.sgd(0.0625, 0.5), batch_stats=jnp.zeros(3))
    state = jax_utils.replicate(state)
    for rows in x:
        state, norm = step(state, shard(rows))
        found += [norm[0], np.asarray(state.batch_stats)]
    found += [jax_utils.unreplicate(state.params), jax_utils.unreplicate(state.step)]
    state = jax_utils.replicate(start)
    for rows in x:
        state = counted(state, shard(rows))
        found.append(np.asarray(state.step).tolist())
    return [*found, jax_utils.unreplicate(state.params)]


RESULT = [np.asarray(x) for x in jax.tree.leaves(main())]
