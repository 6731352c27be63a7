"""A state that is never stacked: it goes in under in_axes=None, and comes out under out_axes=None."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state
from flax.training.common_utils import get_metrics, shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def train_step(state, x, scale):
    def loss(params):
        return scale * jnp.mean((x @ params["w"] - 1) ** 2)

    value, grads = jax.value_and_grad(loss)(state.params)
    state = state.apply_gradients(grads=jax.lax.pmean(grads, "batch"))
    return state, {"loss": jax.lax.pmean(value, "batch")}


def eval_step(state, x):
    return jax.lax.pmean(jnp.mean(x @ state.params["w"]), "batch")


state = train_state.TrainState.create(apply_fn=None, params={"w": jnp.ones(3)}, tx=optax.adam(0.1))
p_train_step = jax.pmap(  # expect: broadcast, split -> broadcast, replicated
    functools.partial(train_step, scale=2.0), in_axes=(None, 0), out_axes=(None, 0), axis_name="batch"
)
p_eval_step = jax.pmap(  # expect: broadcast, split -> broadcast
    eval_step, in_axes=(None, 0), out_axes=None, axis_name="batch"
)
metrics = []
for _ in range(3):
    state, metric = p_train_step(state, shard(BATCH))
    metrics.append(metric)
RESULT = [state.params, state.step, get_metrics(metrics), p_eval_step(state, shard(BATCH))]
