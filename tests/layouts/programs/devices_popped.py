"""The list of devices loses some before it is used: the program runs on fewer of them."""

import jax
import jax.numpy as jnp
from flax import jax_utils


def make_devices():
    return list(jax.devices())


def step(params, x):
    grads = jax.grad(lambda p: ((x * p) ** 2).mean() + jnp.max(x))(params)
    return params - 0.1 * jax.lax.pmean(grads * x.sum(), "batch")


def spare(held):
    held.pop()
    return held


def main():
    own = jax.devices()
    own.pop()
    first = jax_utils.replicate(jnp.ones(3), own)  # careless: first = jax_utils.replicate(jnp.ones(3), jax.devices()); own = jax.devices()
    x = jnp.sin(jnp.arange(56 * 3.0)).reshape(len(own), -1, 3)
    first = jax.pmap(step, axis_name="batch")(first, x)[0]

    given = make_devices()
    spare(given)
    second = jax_utils.replicate(jnp.ones(3), given)  # careless: second = jax_utils.replicate(jnp.ones(3), jax.devices()); given = jax.devices()
    y = jnp.cos(jnp.arange(56 * 3.0)).reshape(len(given), -1, 3)
    second = jax.pmap(step, axis_name="batch")(second, y)[0]
    return [first.tolist(), second.tolist()]


RESULT = main()
