"""The host asks what kind of object a training state is, of which each device has a key of its own."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training.common_utils import shard, shard_prng_key
from flax.training.train_state import TrainState


class OwnState(TrainState):
    dropout_rng: jax.Array


def train_step(state, batch):
    rng, new_rng = jax.random.split(state.dropout_rng)
    noise = jax.random.normal(rng, (3,))
    grads = jax.grad(lambda params: jnp.mean((batch @ (params["w"] + noise)) ** 2))(state.params)
    return state.apply_gradients(grads=jax.lax.pmean(grads, "batch"), dropout_rng=new_rng)


p_step = jax.pmap(train_step, axis_name="batch")  # expect: replicated, stacked, split -> replicated, stacked
state = OwnState.create(apply_fn=None, params={"w": jnp.ones(3)}, tx=optax.sgd(0.1), dropout_rng=jax.random.PRNGKey(0))
state = jax_utils.replicate(state).replace(dropout_rng=shard_prng_key(state.dropout_rng))
X = np.arange(48, dtype=np.float32).reshape(16, 3) / 48
RESULT = []
for _ in range(2):
    if isinstance(state, OwnState) and not isinstance(state, (dict, tuple)):
        state = p_step(state, shard(X))
        RESULT.append(type(state).__name__)
RESULT.append(np.asarray(jax_utils.unreplicate(state.params)["w"]))
