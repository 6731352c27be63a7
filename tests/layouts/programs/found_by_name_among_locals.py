"""A function that is mapped is found among local names by its own, and runs on the host as well."""
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


def main():
    def train_step(state, batch):
        key, new_key = jax.random.split(state.dropout_rng)
        keep = jax.random.bernoulli(key, 0.5, batch.shape)
        params = state.params + jnp.where(keep, batch, 0).mean(0)
        return state.replace(params=params, dropout_rng=new_key), jnp.sum(key * 1.0)

    p_train_step = jax.pmap(train_step, "batch")
    single = State(params=jnp.ones(3), dropout_rng=jax.random.PRNGKey(0))
    state = jax_utils.replicate(single).replace(dropout_rng=shard_prng_key(single.dropout_rng))
    x = np.cos(np.arange(48, dtype=np.float32)).reshape(16, 3)
    state, _ = p_train_step(state, shard(x))
    alone, total = locals()["train_step"](single, x)
    return np.asarray(jax_utils.unreplicate(state).params), np.asarray(alone.params), float(total)


RESULT = main()
