"""The host goes over the parts of a tuple that it also gives to the map: keys and parameters alike."""
import jax
import jax.numpy as jnp
from flax import jax_utils

n = jax.local_device_count()


def step(carry, x):
    keys, params = carry
    return (keys, params + jax.lax.pmean(x.sum() * jax.random.uniform(keys), "i")), x.sum()


p_step = jax.pmap(step, axis_name="i")
carry = (jax.random.split(jax.random.PRNGKey(0), n), jax_utils.replicate(jnp.ones(2)))
shapes = []
for i in range(2):
    carry, sums = p_step(carry, jnp.arange(n * 2.0).reshape(n, 2) + i)
    shapes.append([part.shape for part in carry])
    shapes.append(sum(part.size for part in jax.tree.leaves(carry)))
    last = carry[-1].mean(0)
RESULT = {"shapes": shapes, "last": last, "first": [part[0] for part in carry]}
