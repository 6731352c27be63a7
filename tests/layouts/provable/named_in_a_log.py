"""A function of which only one map is made has the name of an entry of a log: its body can change all the same."""
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct
from flax.training.common_utils import shard, shard_prng_key


@struct.dataclass
class State:
    params: Any
    dropout_rng: Any

    def replicate(self):
        return jax_utils.replicate(self).replace(dropout_rng=shard_prng_key(self.dropout_rng))


def main():
    def train_step(state, batch):
        key, new_key = jax.random.split(state.dropout_rng)
        keep = jax.random.bernoulli(key, 0.5, batch.shape)
        loss, grad = jax.value_and_grad(lambda w: jnp.mean(jnp.where(keep, batch, 0) @ w))(state.params)
        params = state.params - 0.125 * jax.lax.pmean(grad, "batch")
        return state.replace(params=params, dropout_rng=new_key), jax.lax.pmean(loss, "batch")

    p_train_step = jax.pmap(train_step, "batch", donate_argnums=(0,))  # expect: replicated, stacked, split -> replicated, stacked, replicated
    state = State(params=jnp.ones(3), dropout_rng=jax.random.PRNGKey(0)).replicate()
    log = []
    for i in range(3):
        state, loss = p_train_step(state, shard(np.cos(np.arange(48, dtype=np.float32) * (i + 1)).reshape(16, 3)))
        log.append({"train_step": i, "loss": float(loss[0])})
    return log, np.asarray(jax_utils.unreplicate(state).params)


RESULT = main()
