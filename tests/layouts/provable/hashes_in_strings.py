"""A `#` in a string is no comment where calls that make stacked arrays, and maps, are written anew."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

BATCH = {"rows #1": np.arange(48, dtype=np.float32).reshape(16, 3) / 7}


def step(state, batch):
    grad = jax.grad(lambda w: jnp.mean((batch @ w - 1) ** 2))(state)
    return state - 0.125 * jax.lax.pmean(grad, "hosts' #1")


p_step = jax.pmap(  # expect: replicated, split -> replicated
    step,  # the plain one
    axis_name="hosts' #1",  # "quoted", and one's own
)
state = jax_utils.replicate(jnp.ones(3))
for i in range(2):
    batch = BATCH["rows #1"].reshape(  # a block for each
        (jax.local_device_count(), -1) + BATCH["rows #1"].shape[1:],
    )
    state = p_step(state, batch)
RESULT = [np.asarray(jax_utils.unreplicate(state))]
