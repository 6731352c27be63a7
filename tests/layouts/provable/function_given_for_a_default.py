"""A helper's default function, which reduces nothing, is not the one that the step gives it."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def accumulated(w, total, count, grads, every, apply=None):
    total = total + grads / every
    count = (count + 1) % every
    if apply is None:
        apply = lambda w, g: w - 0.1 * g
    w = jax.lax.cond(count == 0, lambda: apply(w, total), lambda: w)
    return w, jnp.where(count == 0, jnp.zeros_like(total), total), count


def step(w, total, count, x):
    grads = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return accumulated(w, total, count, grads, 2, lambda w, g: w - 0.1 * jax.lax.pmean(g, "batch"))


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, stacked, replicated, split -> replicated, stacked, replicated
w = jax_utils.replicate(jnp.ones(3))
total, count = jax_utils.replicate(jnp.zeros(3)), jax_utils.replicate(jnp.zeros((), jnp.int32))
for _ in range(4):
    w, total, count = p_step(w, total, count, shard(BATCH))
RESULT = [np.asarray(jax_utils.unreplicate(w)).tolist()]
