"""A reshape by the number of devices and sizes of a variable, which may hold the -1."""
import jax
import jax.numpy as jnp
import numpy as np

X = np.arange(96, dtype=np.float32).reshape(16, 6) / 7
n = jax.local_device_count()
rest = (-1,)
p_sum = jax.pmap(lambda x: (jax.lax.psum(x.sum(0), "i"), jnp.array(x.shape)), axis_name="i")
total, sizes = p_sum(X.reshape((n, 2) + rest))
more, _ = p_sum(np.reshape(X, (n, -1) + (2, 3)))
RESULT = {"total": total[0], "sizes": sizes[0], "more": more[0]}
