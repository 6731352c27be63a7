"""The numbers of the devices reach maps, host arithmetic, indices, loops and keys."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
N = jax.local_device_count()


def step(w, i, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - i) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch"), i + x.sum(), jax.lax.psum(i, "batch")


p_step = jax.pmap(step, axis_name="batch")


def main():
    w = jax_utils.replicate(jnp.ones(3))
    ids = jnp.arange(N)
    found = [ids.sum(), ids[3], ids[::-1], [int(i) for i in np.arange(N)], np.asarray(BATCH)[np.arange(N)].sum()]
    for _ in range(2):
        w, own, total = p_step(w, ids, shard(BATCH))
        ids = jnp.flip(ids)
        found += [own, jax_utils.unreplicate(total)]
    return [*found, jax_utils.unreplicate(w)]


RESULT = [np.asarray(x) for x in main()]
