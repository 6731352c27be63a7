import functools

import jax
import jax.numpy as jnp
from flax import linen as nn

model = nn.Dense(1)


def create(key):
    return model.init(key, jnp.ones((1, 2)))


@functools.partial(jax.pmap, axis_name="batch")
def step(params, batch):
    grads = jax.grad(lambda p: jnp.mean(model.apply(p, batch) ** 2))(params)
    grads = jax.lax.pmean(grads, "batch")
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def main():
    n = jax.local_device_count()
    batch = jax.random.normal(jax.random.key(1), (n, 4, 2))
    keys = jax.random.split(jax.random.key(0), n)
    params = jax.pmap(create)(keys)  # JM212
    for _ in range(50):
        params = step(params, batch)
    kernel = params["params"]["kernel"]
    print("largest difference between devices:", jnp.abs(kernel - kernel[0]).max().round(2))


if __name__ == "__main__":
    main()
