"""A key of each device's own and a state for all stand in one tuple, which the step takes apart and puts together."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(carry, batch):
    params, rng = carry
    rng, mine = jax.random.split(rng)
    noise = jax.random.uniform(mine, batch.shape)
    grads = jax.grad(lambda p: jnp.sum(((batch + noise) @ p["w"] - p["b"]) ** 2))(params)
    grads = jax.lax.pmean(grads, "i")
    return (jax.tree.map(lambda p, g: p - 0.001 * g, params, grads), rng), jax.lax.pmean(batch.sum(), "i")


p_step = jax.pmap(step, axis_name="i")  # expect: replicated, stacked, split -> replicated, stacked, replicated
params = jax_utils.replicate({"w": jnp.ones(3), "b": jnp.zeros(())})
carry = (params, jax.random.split(jax.random.PRNGKey(3), jax.local_device_count()))
for i in range(3):
    carry, total = p_step(carry, shard(np.cos(np.arange(96, dtype=np.float32) * (i + 1)).reshape(32, 3)))
RESULT = {"params": jax_utils.unreplicate(carry[0]), "total": total[0], "keys": carry[1]}
