"""Stacked gradients come out, and optax applies them to stacked parameters outside the map: clipping sees all devices."""
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training.common_utils import shard

tx = optax.chain(optax.clip_by_global_norm(0.1), optax.sgd(0.5))
p_grad = jax.pmap(
    lambda w, x: jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w), "batch"), axis_name="batch"
)
w = jax_utils.replicate(jnp.zeros(3))
opt_state = tx.init(w)
for i in range(2):
    grads = p_grad(w, shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)))
    updates, opt_state = tx.update(grads, opt_state, w)
    w = optax.apply_updates(w, updates)
RESULT = jax_utils.unreplicate(w)
