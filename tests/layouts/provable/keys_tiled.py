"""Keys, and what one is split into, are tiled for all devices, and arrays by lists of sizes."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

COUNT = jax.local_device_count()
BATCH = np.sin(np.arange(96, dtype=np.float32)).reshape(32, 3)
ROLLOUTS = 4


def drawn(key, x):
    return jax.lax.pmean((x + jax.random.normal(key, (3,))).sum(0), "i")


def rolled(keys, x):
    return jax.lax.pmean((x + jax.vmap(lambda k: jax.random.normal(k, (3,)))(keys).sum(0)).sum(0), "i")


def scaled(rates, x):
    return jax.lax.pmean((x * rates).sum(0), "i")


p_drawn = jax.pmap(drawn, "i")  # expect: replicated, split -> replicated
p_rolled = jax.pmap(rolled, "i")  # expect: replicated, split -> replicated
p_scaled = jax.pmap(scaled, "i")  # expect: replicated, split -> replicated

rng, key = jax.random.split(jax.random.PRNGKey(0))
rates = jnp.asarray(BATCH[0])
RESULT = []
for _ in range(2):
    rng, rng_eval, rng_each = jax.random.split(rng, 3)
    keys = jax.random.split(rng_eval, ROLLOUTS)
    x = BATCH.reshape(COUNT, -1, 3)
    RESULT.append(np.asarray(jax_utils.unreplicate(p_drawn(jnp.tile(rng_each, (COUNT, 1)), x))))
    RESULT.append(np.asarray(jax_utils.unreplicate(p_rolled(jnp.tile(keys, (COUNT, 1, 1)), x))))
    RESULT.append(np.asarray(jax_utils.unreplicate(p_scaled(jnp.tile(rates, [COUNT] + [1] * rates.ndim), x))))
