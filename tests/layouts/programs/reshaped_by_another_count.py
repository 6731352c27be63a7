"""A reshape by a number that is not the number of devices, under a name that says it were."""
import jax
import jax.numpy as jnp
import numpy as np

n_devices = 4


def shard(x):
    return x.reshape((n_devices, -1) + x.shape[1:])


def step(x):
    return jax.lax.pmean(x.mean(0), "batch"), jnp.float32(x.shape[0])


p_step = jax.pmap(step, axis_name="batch")
x = np.sin(np.arange(96, dtype=np.float32)).reshape(32, 3)
mean, rows = p_step(shard(x))
RESULT = {"mean": mean[0], "rows": rows[0], "slices": len(rows)}
