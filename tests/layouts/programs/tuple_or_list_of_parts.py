"""One call gives a list, another a tuple, a third a longer tuple."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

n = jax.local_device_count()
own = jnp.arange(n * 2, dtype=jnp.float32).reshape(n, 2)
same = jax_utils.replicate(jnp.array([3.0, 5.0]))


def total(pair, x):
    first, *rest = pair
    return jax.lax.psum(first * x, "i") + sum(one * (k + 2) for k, one in enumerate(rest))


p_total = jax.pmap(total, axis_name="i")
x = np.cos(np.arange(n * 2, dtype=np.float32)).reshape(n, 2)
RESULT = [np.asarray(p_total(given, x)) for given in ([own, same], (own, same), (same, own, same))]
