"""The tuples of several runs stand in a list, which are mapped one after the other and compared over devices."""
import jax
import jax.numpy as jnp
from flax import jax_utils

n = jax.local_device_count()


def step(carry, x):
    rng, params = carry
    noise = jax.random.normal(rng, params.shape)
    return rng, params + noise * x.sum()


p_step = jax.pmap(step)
runs = [(jax.random.split(jax.random.PRNGKey(i), n), jax_utils.replicate(jnp.full(2, float(i)))) for i in range(3)]
x = jnp.arange(n * 2.0).reshape(n, 2)
runs = [p_step(run, x) for run in runs]
runs = [p_step(run, x) for run in runs]
RESULT = {"params": [params for _, params in runs], "spread": [params.std(0) for _, params in runs]}
