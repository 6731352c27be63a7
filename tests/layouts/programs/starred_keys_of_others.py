"""Lists of keys that are not one for each device: fewer, mixed with others, or of another list by the same name."""
import jax
import jax.numpy as jnp
import numpy as np

n = jax.local_device_count()


def noise(key):
    return jax.lax.psum(jax.random.normal(key, (2,)), "i")


p_noise = jax.pmap(noise, axis_name="i")
rng = jax.random.PRNGKey(0)
RESULT = []
rng, *keys = jax.random.split(rng, n // 2 + 1)
RESULT.append(p_noise(jnp.stack(keys))[0])
rng, one, *keys = jax.random.split(rng, n + 1)
RESULT.append(p_noise(jnp.stack(keys))[0] + jax.random.normal(one))
rng, *keys = jax.random.split(rng, n + 1)
keys.pop()
RESULT.append(p_noise(jnp.stack(keys))[0])
rng, *keys = jax.random.split(rng, n + 1)
if RESULT:
    rng, *keys = jax.random.split(rng, n)
RESULT.append(p_noise(jnp.asarray(keys))[0])
rng, *keys = jax.random.split(rng, n + 1)
for _ in range(2):
    RESULT.append(p_noise(jnp.asarray(keys))[0])
    rng, *keys = jax.random.split(rng, n - 1)
RESULT = [np.asarray(r) for r in RESULT]
