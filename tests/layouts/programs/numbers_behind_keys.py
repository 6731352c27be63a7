"""Keys that are made one by one for the devices, some of them the same for all."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

N = jax.local_device_count()


def draw(w, key):
    noise = jax.random.normal(key, w.shape)
    return w + jax.lax.pmean(noise, "i"), noise


p_draw = jax.pmap(draw, axis_name="i")


def main():
    w = jax_utils.replicate(jnp.ones(3))
    key = jax.random.PRNGKey(1)
    w, first = p_draw(w, jnp.stack([jax.random.fold_in(key, i) for i in range(N)]))
    w, second = p_draw(w, jnp.stack([jax.random.PRNGKey(i * i) for i in range(N)]))
    w, third = p_draw(w, jnp.stack([jax.random.PRNGKey(7) for _ in range(N)]))
    w, fourth = p_draw(w, jnp.array([jax.random.fold_in(key, i % 2) for i in range(N)]))
    return [jax_utils.unreplicate(w), first, second, third, fourth]


RESULT = [np.asarray(x) for x in main()]
