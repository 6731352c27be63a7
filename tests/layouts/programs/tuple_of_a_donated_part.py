"""The tuple is donated, and the host goes on with the parameters that it made the copies of."""
import jax
import jax.numpy as jnp
from flax import jax_utils

n = jax.local_device_count()


def step(carry, x):
    rng, params = carry
    rng, mine = jax.random.split(rng)
    return (rng, params + jax.lax.pmean(jax.random.normal(mine, params.shape) * x, "i")), x


p_step = jax.pmap(step, axis_name="i", donate_argnums=(0,))
start = jnp.ones(3)
params = jax_utils.replicate(start)
keys = jax.random.split(jax.random.PRNGKey(5), n)
kept = jax_utils.unreplicate(params)
for i in range(3):
    (keys, params), x = p_step((keys, params), jnp.arange(n * 3.0).reshape(n, 3))
RESULT = {"start": start, "kept": kept, "params": jax_utils.unreplicate(params), "keys": keys, "x": x}
