"""A map over every other device, of a list that is a copy of that of all."""
import jax
import jax.numpy as jnp
import numpy as np


def main():
    devices = tuple(jax.devices())[::2]
    share = jax.pmap(lambda a: a / jax.lax.psum(1, "d"), axis_name="d")
    x = np.arange(float(len(devices) * 2), dtype=np.float32).reshape(len(devices), 2)
    return share(x)  # careless: return share(jnp.repeat(x, 2, axis=0))[::2]


RESULT = main()
