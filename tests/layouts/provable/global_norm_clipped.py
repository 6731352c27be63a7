"""optax clips by the norm of averaged gradients; everything stays equal on all devices."""
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training.common_utils import shard

tx = optax.chain(optax.clip_by_global_norm(0.1), optax.adam(0.1))


def step(params, opt_state, x):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((x @ p - 1) ** 2))(params)
    loss, grads = jax.lax.pmean((loss, grads), "batch")
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, replicated, split -> replicated, replicated, replicated
params = jnp.zeros(3)
params, opt_state = jax_utils.replicate((params, tx.init(params)))
for i in range(3):
    x = np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)
    params, opt_state, loss = p_step(params, opt_state, shard(x))
RESULT = jax_utils.unreplicate((params, opt_state, loss))
