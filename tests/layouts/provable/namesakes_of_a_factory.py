"""Two factories of one name: what the process tells one of them has nothing to do with the other."""
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def shared(settings):
    def get_step(settings):
        return lambda p, x: p - settings.rate * jax.lax.pmean(p * x, "i")

    return jax.pmap(get_step(settings), axis_name="i")  # expect: replicated, stacked -> replicated


def own(settings):
    def get_step(settings):
        return lambda p, x: p - settings.rate * x

    return jax.pmap(get_step(SimpleNamespace(rate=settings.rate * (1 + jax.process_index()))), axis_name="i")  # expect: stacked, stacked -> stacked


def main():
    x = np.arange(jax.local_device_count() * 3, dtype=np.float32).reshape(-1, 3) / 9
    params, apart = jax_utils.replicate(jnp.arange(3.0)), jax_utils.replicate(jnp.ones(3))
    p_shared, p_own = shared(SimpleNamespace(rate=0.1)), own(SimpleNamespace(rate=0.2))
    for _ in range(3):
        params, apart = p_shared(params, x), p_own(apart, x)
    return jax_utils.unreplicate(params), apart


RESULT = [np.asarray(x) for x in main()]
