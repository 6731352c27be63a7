import functools

import jax
import jax.numpy as jnp


def loss_fn(params, batch):
    loss = jnp.mean((batch @ params) ** 2)
    return loss / jax.device_count()


@functools.partial(jax.pmap, axis_name="i")
def step(params, batch):
    return params - 0.1 * jax.lax.psum(jax.grad(loss_fn)(params, batch), "i")


def main():
    n = jax.local_device_count()
    params = step(jnp.ones((n, 3)), jnp.ones((n, 4, 3)))
    print("devices of this process and of all:", n, jax.device_count(), params.shape[1])


if __name__ == "__main__":
    main()
