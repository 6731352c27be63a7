import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.jit, donate_argnums=0)
def step(params, grads):
    return params - 0.1 * grads


def change(params, grads):
    before = params.copy()
    params = step(params, grads)
    return params - before


def train(params, batches):
    for grads in batches:
        params = step(params, grads)
    return params


if __name__ == "__main__":
    print(change(jnp.ones(4), jnp.ones(4)), train(jnp.ones(4), [jnp.ones(4)] * 2))
