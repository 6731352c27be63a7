"""The first entry of a chain's state, and its count on device 0."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")

import optax

tx = optax.chain(optax.scale_by_adam(), optax.scale(-0.125))


def adam_step(w, opt_state, x):
    grad = jax.lax.pmean(jax.grad(lambda w: jnp.sum((x @ w) ** 2))(w), "batch")
    updates, opt_state = tx.update(grad, opt_state)
    return optax.apply_updates(w, updates), opt_state


p_adam = jax.pmap(adam_step, axis_name="batch")
w = jnp.ones(3)
opt_state = jax_utils.replicate(tx.init(w))
w = jax_utils.replicate(w)
w, opt_state = p_adam(w, opt_state, shard(BATCH))
RESULT = {"count": opt_state[0].count, "first": opt_state[0].count[0], "mu": opt_state[0].mu.shape}
