"""Keys for all devices that are a slice of some more, of which the others go on."""
import jax
import jax.numpy as jnp


def sample(key):
    noise = jax.random.normal(key, (4, 3))
    return noise, jax.lax.pmean(jnp.mean(noise), "i")


def main():
    p_sample = jax.pmap(sample, axis_name="i")  # expect: stacked -> split, replicated
    n, found = jax.local_device_count(), []
    key = jax.random.PRNGKey(0)
    for _ in range(2):
        keys = jax.random.split(key, n + 1)
        key, keys = keys[0], keys[1:]
        samples, mean = p_sample(keys)
        found.append((samples.reshape(-1, 3), mean[0]))
    every = jax.random.split(key, num=2 + n)
    samples, mean = p_sample(every[2:])
    found.append((samples.reshape(-1, 3), mean[0]))
    samples, mean = p_sample(jax.random.split(every[1], 1 + n)[:n])
    found.append((samples.reshape(-1, 3), mean[0]))
    return found, every[0]


RESULT = main()
