"""After the first round of the scan, what was the same on all devices is so no more: only the carry tells."""
import functools

import jax
import jax.numpy as jnp
from flax import jax_utils

n = jax.local_device_count()


def step(carry, x):
    first, second, third = carry
    return (first, first * 0.5 + jax.lax.pmean(x, "i"), second + third), third.sum()


p_step = jax.pmap(functools.partial(jax.lax.scan, step), axis_name="i")
own = jnp.sin(jnp.arange(n * 2.0)).reshape(n, 2)
second, third = jax_utils.replicate((jnp.ones(2), jnp.zeros(2)))
(own, second, third), sums = p_step((own, second, third), jnp.arange(n * 4.0).reshape(n, 4))
RESULT = {"own": own, "second": second[:, 0], "third": third.std(0), "sums": sums}
