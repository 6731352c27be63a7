"""Constants with a slice for each device are one slice for all: barriers, masks, counters and rates."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def barrier():
    return jax.device_get(p_sum(jnp.ones((jax.local_device_count(),))))


def sync(x):
    return jax.lax.psum(x, "i")


p_sum = jax.pmap(sync, axis_name="i")  # expect: replicated -> replicated


def step(w, count, rate, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - rate * jax.lax.pmean(grad, "batch"), count + 1


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, replicated, replicated, split -> replicated, replicated


def evaluate(w, mask, x):
    return jax.lax.psum(jnp.sum(mask * (x @ w)), "batch")


p_evaluate = jax.pmap(evaluate, axis_name="batch")  # expect: replicated, replicated, split -> replicated


def main():
    n = jax.local_device_count()
    w = jax_utils.replicate(jnp.ones(3))
    count = jnp.zeros(shape=(n,), dtype=jnp.int32)
    rate = 1 / 8
    for _ in range(3):
        w, count = p_step(w, count, np.full((n,), rate * 0.5, np.float32), shard(BATCH))
    mask = jnp.ones((n, 16 // n))
    total = p_evaluate(w, mask, shard(BATCH))
    return jax_utils.unreplicate(w), jax_utils.unreplicate(count), jax_utils.unreplicate(total)


RESULT = [np.asarray(x) for x in (*main(), barrier()[0])]
