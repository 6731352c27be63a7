"""Comments within the calls that make and take apart stacked arrays stay."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(state, batch):
    grad = jax.grad(lambda w: jnp.mean((batch @ w - 1) ** 2))(state)
    return state - 0.125 * jax.lax.pmean(grad, "batch"), jax.lax.psum(1.0, "batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated, replicated
state = jax_utils.replicate(
    # one for each feature
    jnp.ones(3)  # of 3
)
for i in range(2):
    state, count = p_step(
        state,
        shard(
            # this host's
            BATCH + i,  # and no other's
        ),
    )
one = jax_utils.unreplicate(
    # any will do
    state
)
first = count[0] + jax.tree.map(
    lambda x: x[0],  # the same for all
    count,
    # of them
)
RESULT = [np.asarray(one), np.asarray(first)]
