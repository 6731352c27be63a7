"""Five arguments of one mapped function, under names that fill more than a line: a star stands for them."""

import jax
import jax.numpy as jnp
import numpy as np


def rendered(key_of_the_coarse_samples, key_of_the_fine_samples, parameters_of_the_model, rays_of_the_image, extra):
    noise = jax.random.normal(key_of_the_coarse_samples) + jax.random.normal(key_of_the_fine_samples)
    return jax.lax.all_gather(noise + parameters_of_the_model * rays_of_the_image.sum() + extra, "batch")


def main(devices):
    fn = jax.pmap(rendered, in_axes=(0, 0, 0, 0, 0), devices=devices, donate_argnums=(3,), axis_name="batch")
    keys = jax.random.split(jax.random.PRNGKey(0), 8)
    x = np.sin(np.arange(8.0, dtype=np.float32))
    return np.asarray(fn(keys, keys, x, jnp.asarray(x), x))


RESULT = [main(jax.devices()), rendered.__name__]
