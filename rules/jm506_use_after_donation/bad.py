import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.jit, donate_argnums=0)
def step(params, grads):
    return params - 0.1 * grads


def change(params, grads):
    new_params = step(params, grads)
    return new_params - params  # JM506


def train(params, batches):
    for grads in batches:
        print(step(params, grads).mean())  # JM506


if __name__ == "__main__":
    for broken in (change, lambda params, grads: train(params, [grads, grads])):
        try:
            broken(jnp.ones(4), jnp.ones(4))
        except (RuntimeError, ValueError) as error:
            print(f"{type(error).__name__}: {error}")
