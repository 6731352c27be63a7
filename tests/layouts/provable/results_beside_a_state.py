"""Two results of which one device's is taken, beside a state of unknown origin that goes round stacked."""

import jax
import jax.numpy as jnp
import numpy as np


def load(count):
    return [np.full((count, 3), 0.5, np.float32), np.arange(count * 6, dtype=np.float32).reshape(count, 2, 3) / 7]


def step(w, momentum, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    momentum = 0.9 * momentum + jax.lax.pmean(grad, "i")
    return w - 0.1 * momentum, momentum, jax.lax.pmean(loss, "i"), jax.lax.psum(jnp.abs(grad).max(), "i")


p_zeros = jax.pmap(jnp.zeros_like)  # expect: stacked -> stacked
p_step = jax.pmap(step, axis_name="i")  # expect: stacked, stacked, stacked -> stacked, stacked, replicated, replicated


def run(count):
    (w, x), losses = load(count), []
    momentum = p_zeros(w)
    for _ in range(3):
        w, momentum, loss, largest = p_step(w, momentum, x)
        losses += [float(loss[0]), float(largest[0])]
    return [*losses, np.asarray(w)]


RESULT = [run(8), run(4)]
