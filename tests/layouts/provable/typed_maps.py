"""Maps are given types where they are made, as checkers of types ask for."""
import typing as t
from collections.abc import Callable
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

Step = Callable[..., jax.Array]
make_map = cast(Callable[..., Step], jax.pmap)


def step(w, x):
    grads = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grads, "i")


p_step = cast(Callable[..., Step], jax.pmap)(step, axis_name="i")  # expect: replicated, split -> replicated
p_mean = t.cast("Step", make_map(lambda x: jax.lax.pmean(x.mean(), "i"), "i"))  # expect: split -> replicated
w = jax_utils.replicate(jnp.ones(3))
means = []
for i in range(2):
    x = np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)
    means.append(float(p_mean(x.reshape(jax.local_device_count(), -1, 3))[0]))
    w = p_step(w, x.reshape(jax.local_device_count(), -1, 3))
RESULT = {"means": means, "w": jax_utils.unreplicate(w)}
