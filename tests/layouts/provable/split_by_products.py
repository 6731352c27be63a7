"""Reshapes by the number of devices and other sizes, in a tuple, in a list, one by one, with more behind them."""
import jax
import jax.numpy as jnp
import numpy as np

X = np.arange(96, dtype=np.float32).reshape(16, 6) / 7
n = jax.local_device_count()
per_device = X.shape[0] // n
rest = [3, 2]
p_sum = jax.pmap(lambda x: jax.lax.psum(x.sum(0), "i"), axis_name="i")  # expect: split -> replicated
totals = []
totals.append(p_sum(X.reshape((n, per_device, -1)))[0])
totals.append(p_sum(X.reshape(n, X.shape[0] // n, *X.shape[1:]))[0])
totals.append(p_sum(jnp.reshape(X, [n, 1 + 1] + rest))[0])
totals.append(p_sum(np.reshape(X, [n, per_device] + list(X.shape[1:])))[0])
totals.append(p_sum(X.reshape((n, -1) + tuple(X.shape[1:])))[0])

RESULT = totals
