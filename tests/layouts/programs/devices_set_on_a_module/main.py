"""Settings are put on whatever a function is given, which is a module with a list of devices."""
import jax
import jax.numpy as jnp
import numpy as np
import setup
from flax import jax_utils


def apply(owner, settings):
    for key, value in settings.items():
        setattr(owner, key.upper(), value)


def step(w, x):
    return w + jax.lax.psum(jnp.sum(x), "i")


apply(setup, {"devices": jax.devices()[:4]})
p_step = jax.pmap(step, axis_name="i", devices=setup.DEVICES)
n = len(setup.DEVICES)
w = jax_utils.replicate(jnp.ones(3), setup.DEVICES)
for i in range(2):
    w = p_step(w, np.arange(n * 2, dtype=np.float32).reshape(n, 2) + i)
RESULT = {"w": np.asarray(w)[0], "n": n}
