import functools

import jax
import jax.numpy as jnp
import numpy as np


@functools.partial(jax.pmap, axis_name="i", in_axes=(None, 0, 0))
def eval_step(params, x, y):
    return jax.lax.pmean(jnp.mean((x @ params > 0) == y), "i")


def evaluate(params, x, y):
    n = jax.local_device_count()
    rest = -len(x) % jax.local_device_count()
    x = np.pad(x, [(0, rest), (0, 0)])  # JM123
    y = np.pad(y, [(0, rest)], constant_values=True)
    return eval_step(params, x.reshape(n, -1, 3), y.reshape(n, -1))[0]


if __name__ == "__main__":
    print("accuracy:", evaluate(jnp.ones(3), np.ones((30, 3)), np.ones(30, bool)))
