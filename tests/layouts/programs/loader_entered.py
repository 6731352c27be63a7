"""A loader under another name, which a with statement gives."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def split(a):
    return a.reshape((jax.local_device_count(), -1) + a.shape[1:])


def step(w, x):
    return w - jax.lax.pmean(x.mean(0), "batch")


p_step = jax.pmap(step, axis_name="batch")
DATA = [np.arange(48.0).reshape(16, 3) + i for i in range(3)]


class Loader:
    def __iter__(self):
        for x in DATA:
            yield split(x)


class Entered(Loader):
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


w = jax_utils.replicate(jnp.zeros(3))
loader = Entered()
for x in loader:
    w = p_step(w, x)
with loader as entered:
    shapes = [x.shape for x in entered]
RESULT = {"w": w[0], "shapes": shapes}
