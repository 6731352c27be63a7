"""One call gives a tuple of a key for each device and parameters, another one a tuple made by one function for both."""
import jax
import jax.numpy as jnp
from flax import jax_utils

n = jax.local_device_count()


def step(carry, x):
    rng, params = carry
    noise = jax.random.normal(rng, params.shape)
    return (jax.random.fold_in(rng, 1), params + jax.lax.pmean(noise * x.sum(), "i")), noise


p_step = jax.pmap(step, axis_name="i")
params = jax_utils.replicate(jnp.ones(2))
keys = jax.random.split(jax.random.PRNGKey(0), n)
x = jnp.arange(n * 2.0).reshape(n, 2)
carry, noise = p_step((keys, params), x)
alike = jax_utils.replicate((jax.random.PRNGKey(1), jnp.zeros(2)))
other, same = p_step(alike, x)
third, last = p_step((keys, params, ) if n > 100 else (keys, params), x)
RESULT = {"params": carry[1], "noise": noise, "other": other, "same": same, "last": last, "third": third[1].sum()}
