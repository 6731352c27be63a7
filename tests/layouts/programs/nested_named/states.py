"""Averages of all devices and of each."""
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class Averages(NamedTuple):
    shared: Any
    own: Any


def step(w, averages, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    grad = jax.lax.pmean(grad, "batch")
    averages = Averages(averages.shared + grad, averages.own * 0.5 + x.mean(0))
    return (w - 0.125 * grad, (averages, jax.lax.pmean(loss, "batch"))), x + averages.own
