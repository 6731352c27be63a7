"""Ones stand beside a batch in one array, and in a list of arrays that are joined."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
N = jax.local_device_count()


def scores(w, mask, x):
    return jax.lax.psum(jnp.sum(mask * (x @ w)), "batch"), mask * (x @ w)


p_scores = jax.pmap(scores, axis_name="batch")


def norm(x):
    return jax.lax.psum(jnp.sum(x * jnp.arange(x.shape[-1])), "batch")


p_norm = jax.pmap(norm, axis_name="batch")


def main():
    x = shard(BATCH)
    with_bias = jnp.concatenate([x, jnp.ones((N, 2, 1))], axis=-1)
    more = np.concatenate([np.zeros((N, 1, 3), np.float32), np.asarray(x)], axis=1)
    parts = [jnp.zeros((N, 1)), jnp.ones((N, 1))]
    parts.append(jnp.arange(float(N))[:, None])
    return [jax_utils.unreplicate(p_norm(one)) for one in (with_bias, more, jnp.concatenate(parts, 1))]


RESULT = main()
