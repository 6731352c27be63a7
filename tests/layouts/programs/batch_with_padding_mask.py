"""The last batch is padded by hand, and masks say so."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard, shard_prng_key

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
KEY = jax.random.PRNGKey(0)


def noisy(w, x, key):
    x = x + jax.random.normal(key, x.shape)
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")

n = jax.local_device_count()


def body(w, x, mask):
    loss = jnp.sum(((x @ w - 1) ** 2) * mask)
    return jax.lax.psum(loss, "batch"), jax.lax.psum(mask.sum(), "batch"), (x @ w)


p_eval = jax.pmap(body, axis_name="batch")
w = jax_utils.replicate(jnp.ones(3))
found = []
for start in range(0, 16, 11):
    x = BATCH[start : start + 11]
    pad = -len(x) % n
    mask = np.concatenate([np.ones(len(x), np.float32), np.zeros(pad, np.float32)])
    x = np.concatenate([x, np.zeros((pad, 3), np.float32)])
    loss, count, scores = p_eval(w, shard(x), shard(mask))
    found.append((loss[0], count[0], np.asarray(scores).reshape(-1)[: int(count[0])]))
RESULT = found
