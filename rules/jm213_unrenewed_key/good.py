import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.pmap, axis_name="i")
def step(weights, batch, key):
    noise = jax.random.normal(key, batch.shape)
    grads = jax.grad(lambda w: jnp.mean((batch + noise) @ w))(weights)
    return weights - jax.lax.pmean(grads, "i"), jax.lax.psum(noise.sum(), "i")


def main():
    n = jax.local_device_count()
    batch = jnp.ones((n, 4, 2))
    weights = jnp.ones((n, 2))
    key = jax.random.key(0)
    sums = []
    for _ in range(4):
        key, step_key = jax.random.split(key)
        keys = jax.random.split(step_key, n)
        weights, noise = step(weights, batch, keys)
        sums.append(float(noise[0]))
    print("different sums of noise in 4 steps:", len(set(sums)))


if __name__ == "__main__":
    main()
