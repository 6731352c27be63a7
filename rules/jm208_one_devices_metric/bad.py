import functools

import jax
import jax.numpy as jnp


def loss_fn(params, batch):
    return jnp.mean((batch @ params) ** 2)


@functools.partial(jax.pmap, axis_name="batch", in_axes=(None, 0))
def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    grads = jax.lax.pmean(grads, "batch")
    return params - 0.1 * grads, loss  # JM208


def main():
    n = jax.device_count()
    batch = jnp.arange(float(n)).reshape(n, 1, 1)
    params, loss = step(jnp.ones(1), batch)
    print("loss", loss[0], "of", loss.mean())


if __name__ == "__main__":
    main()
