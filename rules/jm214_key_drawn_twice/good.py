import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.pmap, axis_name="i")
def diffuse(batch, key):
    time_key, noise_key = jax.random.split(key)
    time = jax.random.uniform(time_key, batch.shape)
    noise = jax.random.normal(noise_key, batch.shape)
    return batch * time + noise, jnp.corrcoef(time.ravel(), noise.ravel())[0, 1]


def main():
    n = jax.local_device_count()
    keys = jax.random.split(jax.random.key(0), n)
    _, correlation = diffuse(jnp.ones((n, 4000, 2)), keys)
    print(f"correlation of time and noise: {abs(correlation[0]):.2f}")


if __name__ == "__main__":
    main()
