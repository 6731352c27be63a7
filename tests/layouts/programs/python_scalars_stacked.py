"""The same through jnp.stack, jnp.array and jnp.full, with a half-precision batch."""
import jax
import jax.numpy as jnp
import numpy as np

n = jax.local_device_count()


def step(a, b, c, d, x):
    return x * a, x * b, x * c, x * d


p_step = jax.pmap(step)
x = jnp.ones((n, 2), jnp.float16)
outs = p_step(jnp.array([0.5] * n), jnp.stack([0.5] * n), jnp.full((n,), 0.5), np.array([0.5] * n), x)
RESULT = [out[0] for out in outs] + [str(out.dtype) for out in outs]
