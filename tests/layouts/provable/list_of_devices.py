"""The devices are a list of all of them, and so is their count; the optimiser's state is made by a map of its own."""
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils

tx = optax.sgd(0.1, momentum=0.9)


def step(w, state, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    updates, state = tx.update(jax.lax.pmean(grad, "batch"), state, w)
    return optax.apply_updates(w, updates), state


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, replicated, split -> replicated, replicated


def main():
    devices = tuple(jax.devices())
    w = jax_utils.replicate(jnp.ones(3), list(jax.devices()))
    state = jax.pmap(tx.init)(w)  # expect: replicated -> replicated
    for i in range(3):
        x = np.sin(np.arange(48, dtype=np.float32) + i)
        w, state = p_step(w, state, x.reshape((len(devices), -1, 3)))
    return jax_utils.unreplicate(w)


RESULT = main()
