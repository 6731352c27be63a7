"""A mean that kfac_jax takes over the devices where it is told their axis, and that is none at all without one."""

import jax
import jax.numpy as jnp
import kfac_jax
import numpy as np
from flax import jax_utils


def stepped(w, x, axis):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.1 * kfac_jax.utils.pmean_if_pmap(grad, axis_name=axis), loss


def apart(w, x):
    return stepped(w, x, None)


def together(w, x):
    return stepped(w, x, "i")


p_apart = jax.pmap(apart, axis_name="i")  # expect: stacked, split -> stacked, stacked
p_together = jax.pmap(together, axis_name="i")  # expect: replicated, split -> replicated, stacked


def batch(i):
    return jnp.asarray(np.sin(np.arange(48, dtype=np.float32) + i)).reshape(jax.device_count(), -1, 3)


def ends_apart():
    w = kfac_jax.utils.replicate_all_local_devices(jnp.linspace(0.1, 1.0, 3))
    for i in range(3):
        w, loss = p_apart(w, batch(i))
    return jax_utils.unreplicate(w), np.asarray(loss).max()


def ends_together():
    w = kfac_jax.utils.replicate_all_local_devices(jnp.linspace(0.1, 1.0, 3))
    for i in range(3):
        w, loss = p_together(w, batch(i))
    return jax_utils.unreplicate(w), np.asarray(loss).max()


RESULT = [ends_apart(), ends_together()]
