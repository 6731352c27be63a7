"""Batches and states that are named tuples and dataclasses, made by keywords, with fields put in place of others."""
import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
Y = np.cos(np.arange(16, dtype=np.float32))


@struct.dataclass
class Batch:
    x: jax.Array
    y: jax.Array


class Pair(NamedTuple):
    x: jax.Array
    y: jax.Array


@struct.dataclass
class State:
    w: jax.Array
    count: jax.Array


def step(state, batch):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((batch.x @ w - batch.y) ** 2))(state.w)
    state = state.replace(w=state.w - 0.125 * jax.lax.pmean(grad, "i"), count=state.count + 1)
    return state, jax.lax.pmean(loss, "i")


p_step = jax.pmap(step, axis_name="i")  # expect: replicated, split -> replicated, replicated
p_pair = jax.pmap(step, axis_name="i")  # expect: replicated, split -> replicated, replicated
state = jax_utils.replicate(State(jnp.ones(3), jnp.zeros(())))
batch = Batch(x=shard(X), y=shard(Y))
state, loss = p_step(state, batch)
batch = batch.replace(x=shard(X + 2))
state, loss = p_step(state, shard(Batch(X, Y)))
state, loss = p_step(State(**{"w": state.w, "count": state.count}), dataclasses.replace(batch, y=shard(Y - 1)))
pair = Pair(x=shard(X), y=shard(Y))
state, loss = p_pair(state, pair._replace(x=shard(X - 1)))
seen = [batch.x.shape[0] * batch.x.shape[1], pair.y.shape, state.w.shape[1], state.count.ndim]
RESULT = [np.asarray(jax_utils.unreplicate(state).w), float(loss[0]), seen]
