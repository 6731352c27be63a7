"""Tuples in a tuple: what is the same on all devices is told from what is not, part by part."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def gradient(w, x):
    return jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)


def step(w, momentum, key, x):
    key, sub = jax.random.split(key)
    loss, grad = gradient(w, x + jax.random.normal(sub, x.shape))
    momentum = 0.9 * momentum + jax.lax.pmean(grad, "batch")
    state = (w - 0.125 * momentum, momentum)
    return (state, key), {"loss": jax.lax.pmean(loss, "batch")}


def evaluate(w, x):
    if x.shape[0] > 1:
        return (x @ w, jax.lax.pmean(x.sum(), "batch")), x.sum(0)
    return ((x * 2) @ w, jax.lax.pmean(x.sum(), "batch")), x.sum(0)


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, replicated, stacked, split -> replicated, replicated, stacked, replicated
p_evaluate = jax.pmap(evaluate, axis_name="batch")  # expect: replicated, split -> stacked, replicated, stacked


def main():
    w, momentum = jax_utils.replicate(jnp.ones(3)), jax_utils.replicate(jnp.zeros(3))
    keys = jax.random.split(jax.random.PRNGKey(0), jax.device_count())
    found = []
    for _ in range(3):
        ((w, momentum), keys), metrics = p_step(w, momentum, keys, shard(BATCH))
        found.append(jax_utils.unreplicate(metrics)["loss"])
    (logits, total), own = p_evaluate(w, shard(BATCH))
    return found, keys, jax_utils.unreplicate(w), jax_utils.unreplicate(momentum), logits, own, jax_utils.unreplicate(total)


RESULT = [np.asarray(x) for x in jax.tree.leaves(main())]
