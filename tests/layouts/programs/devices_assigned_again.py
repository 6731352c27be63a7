"""A list of devices is another one where it is read again; a third is that of an earlier call."""

import jax
import jax.numpy as jnp
from flax import jax_utils

KEPT = {}


def double(w):
    return w + jax.lax.psum(w, "i")


def main(n):
    devices = jax.devices()[:n]
    w = jax_utils.replicate(jnp.ones(3), devices)
    first = jax.pmap(double, axis_name="i", devices=devices)(w)[0]
    devices = devices[:2]
    w = jax_utils.replicate(jnp.ones(3), devices)  # careless: w = jax_utils.replicate(jnp.ones(3), jax.devices()[:n])
    return first, jax.pmap(double, axis_name="i", devices=jax.devices()[:n])(w)[0]


def train(devices):
    if "w" not in KEPT:
        KEPT["w"] = jax_utils.replicate(jnp.ones(3), devices)
    KEPT["w"] = jax.pmap(double, axis_name="i", devices=devices)(KEPT["w"])
    return jax_utils.unreplicate(KEPT["w"])


RESULT = [main(4), train(jax.devices()[:2]), train(jax.devices()[:4])]
