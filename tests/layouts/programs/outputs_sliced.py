"""A tuple of outputs: sliced, spread, counted, listed, added to."""
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

p_three = jax.pmap(lambda w, x: (step(w, x), x.mean(), x.shape[0]), axis_name="batch")
out = p_three(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
first, *rest = out
pair = out[:2] + (out[-1],)
RESULT = [first[0], [np.asarray(r).sum() for r in rest], len(pair), pair[1].shape, [o[0] for o in out], list(out)[2].sum()]
