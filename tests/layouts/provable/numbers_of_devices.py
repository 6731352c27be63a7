"""The numbers of the devices are one row for each: what is made of them may be the same on all."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

N = jax.local_device_count()
p_init = jax.pmap(lambda _: jnp.arange(3.0))  # expect: stacked -> replicated


def step(w, key):
    noise = jax.random.normal(key, w.shape)
    return w - 0.5 * jax.lax.pmean(noise, "i")


p_step = jax.pmap(step, axis_name="i")  # expect: replicated, stacked -> replicated


def main():
    w = p_init(jnp.arange(N))
    for _ in range(2):
        w = p_step(w, jnp.stack([jax.random.fold_in(jax.random.PRNGKey(3), i) for i in range(N)]))
    return jax_utils.unreplicate(w)


RESULT = np.asarray(main())
