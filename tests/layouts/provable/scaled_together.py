"""flax's loss scale averages gradients over the axis that it is given."""
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training import dynamic_scale as dynamic_scale_lib
from flax.training import train_state
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


class TrainState(train_state.TrainState):
    dynamic_scale: dynamic_scale_lib.DynamicScale


def train_step(state, x):
    def loss_fn(params):
        out = state.apply_fn(params, x)
        return jnp.mean((out - 1) ** 2), out

    dynamic_scale = state.dynamic_scale
    if dynamic_scale:
        grad_fn = dynamic_scale.value_and_grad(loss_fn, has_aux=True, axis_name="batch")
        dynamic_scale, is_fin, aux, grads = grad_fn(state.params)
    else:
        aux, grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
        grads = jax.lax.pmean(grads, axis_name="batch")
    new_state = state.apply_gradients(grads=grads)
    if dynamic_scale:
        where = functools.partial(jnp.where, is_fin)
        new_state = new_state.replace(
            opt_state=jax.tree.map(where, new_state.opt_state, state.opt_state),
            params=jax.tree.map(where, new_state.params, state.params),
            dynamic_scale=dynamic_scale,
        )
    return new_state, jax.lax.pmean(aux[0], "batch")


p_step = jax.pmap(train_step, axis_name="batch")  # expect: replicated, split -> replicated, replicated

state = TrainState.create(
    apply_fn=lambda params, x: x @ params["w"],
    params={"w": jnp.ones(3)},
    tx=optax.adam(0.1),
    dynamic_scale=dynamic_scale_lib.DynamicScale(growth_interval=2),
)
state = jax_utils.replicate(state)
for _ in range(3):
    state, loss = p_step(state, shard(BATCH))
state = jax_utils.unreplicate(state)
RESULT = [state.params, state.dynamic_scale.scale, state.opt_state[0].mu, loss[0]]
