"""What a body notes down while it is traced."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")

notes = []


def body(w, x, k):
    notes.append((w.shape, x.shape, k.shape, x.ndim, len(x)))
    return step(w, x) + 0 * k.sum()


p_body = jax.pmap(body, axis_name="batch")
w = p_body(jax_utils.replicate(jnp.ones(3)), shard(BATCH), jax.random.normal(jax.random.PRNGKey(0), (8, 2)))
RESULT = {"w": w[0], "notes": sorted(set(notes))}
