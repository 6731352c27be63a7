"""Constants with a slice for each device keep their dtypes: weak ones, those of numpy, and those that are named."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

N = jax.local_device_count()
half = jnp.arange(4, dtype=jnp.bfloat16)


def scaled(scale):
    return lax.pmean(half * scale, "batch"), lax.psum(scale, "batch")


p_scaled = jax.pmap(scaled, axis_name="batch")


def main():
    found = []
    for scale in (
        jnp.full((N,), 3),
        jnp.full((N,), 0.5),
        jnp.full((N, 4), 2, dtype=jnp.int8),
        jnp.ones(N),
        jnp.ones((N,), jnp.int32),
        jnp.ones(shape=(N, 1), dtype=jnp.float16),
        np.ones((N,)),
        np.full((N, 4), 7),
        np.zeros([N, 4], dtype=bool),
        jnp.zeros((N,) + (2, 2)),
        jnp.zeros((N, *half.shape)),
    ):
        try:
            found += [one[0] for one in p_scaled(scale)]
        except (TypeError, ValueError) as error:
            found.append(type(error).__name__)
    found += [one[0] for one in p_scaled(jnp.full((N,), True))]
    return [(str(x.dtype), x.shape, getattr(x, "weak_type", None), np.asarray(x, np.float32).sum()) if hasattr(x, "dtype") else x for x in found]


RESULT = main()
