"""A tuple of a key for each device and a state that is the same on all: each has its own spec."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(carry, batch):
    rng, state = carry
    rng, own = jax.random.split(rng)
    noisy = batch + jax.random.normal(own, batch.shape)
    grad = jax.grad(lambda w: jnp.mean((noisy @ w - 1) ** 2))(state["w"])
    return (rng, {"w": state["w"] - 0.125 * jax.lax.pmean(grad, "batch")}), jax.lax.pmean(noisy.mean(), "batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: stacked, replicated, split -> stacked, replicated, replicated
state = jax_utils.replicate({"w": jnp.ones(3)})
rng = jax.random.split(jax.random.PRNGKey(1), jax.local_device_count())
losses = []
for i in range(3):
    batch = shard(np.sin(np.arange(48, dtype=np.float32) * (i + 1)).reshape(16, 3))
    (rng, state), loss = p_step((rng, state), batch)
    losses.append(jax_utils.unreplicate(loss))
RESULT = {"state": jax_utils.unreplicate(state), "losses": losses, "rng": np.asarray(rng)}
