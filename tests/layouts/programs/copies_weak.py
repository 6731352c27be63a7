"""Copies keep their dtypes, weak ones as well."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
N = jax.local_device_count()


def norm(w, x):
    return jax.lax.psum(jnp.sum(w * jnp.arange(w.size).reshape(w.shape)) + x.sum() * x[0, 0], "batch"), w



def scaled(w):
    return jnp.arange(3, dtype=jnp.bfloat16) * w, jax.lax.psum(w, "batch")


def main():
    found = []
    weak, strong, whole = jnp.full((3,), 1.3), jnp.full((3,), 1.3, dtype=jnp.float32), np.full((3,), 2)
    found += jax.pmap(scaled, axis_name="batch")(jnp.repeat(weak[None], N, axis=0))
    found += jax.pmap(scaled, axis_name="batch")(np.repeat(np.asarray(weak)[None, ...], N, 0))
    found += jax.pmap(scaled, axis_name="batch")(jnp.tile(weak, (N,) + (1,) * weak.ndim))
    found += jax.pmap(scaled, axis_name="batch")(jnp.broadcast_to(weak[None], (N, *weak.shape)))
    found += jax.pmap(scaled, axis_name="batch")(jnp.repeat(strong[None], N, axis=0))
    found += jax.pmap(scaled, axis_name="batch")(np.repeat(np.asarray(strong)[None, ...], N, 0))
    found += jax.pmap(scaled, axis_name="batch")(jnp.tile(strong, (N,) + (1,) * strong.ndim))
    found += jax.pmap(scaled, axis_name="batch")(jnp.broadcast_to(strong[None], (N, *strong.shape)))
    found += jax.pmap(scaled, axis_name="batch")(jnp.repeat(whole[None], N, axis=0))
    found += jax.pmap(scaled, axis_name="batch")(np.repeat(np.asarray(whole)[None, ...], N, 0))
    found += jax.pmap(scaled, axis_name="batch")(jnp.tile(whole, (N,) + (1,) * whole.ndim))
    found += jax.pmap(scaled, axis_name="batch")(jnp.broadcast_to(whole[None], (N, *whole.shape)))
    first = [one[0] for one in found]
    return [(str(one.dtype), getattr(one, "weak_type", None), np.asarray(one, np.float32).sum()) for one in first]


RESULT = main()
