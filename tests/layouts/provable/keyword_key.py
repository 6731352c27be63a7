"""A key is given by keyword behind arguments that a partial binds: it has no position of its own."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def train_step(w, x, model, rate, dropout_rng=None, scale=None):
    kept = x * jax.random.bernoulli(dropout_rng, 0.5, x.shape)
    grad = jax.grad(lambda w: jnp.mean((model(w, kept) - 1) ** 2))(w)
    grad = jax.lax.pmean(grad, "batch")
    return w - rate * grad * (1.0 if scale is None else scale.sum()), jax.lax.pmean(kept.mean(), "batch")


p_step = jax.pmap(  # expect: replicated, split, stacked -> replicated, replicated
    functools.partial(train_step, model=lambda w, x: x @ w, rate=0.125), axis_name="batch", donate_argnums=(0,)
)

keys = jax.random.split(jax.random.PRNGKey(0), 8)
w = jax_utils.replicate(jnp.ones(3))
losses = []
for _ in range(2):
    w, loss = p_step(w, shard(BATCH), dropout_rng=keys)
    losses.append(loss)
RESULT = [jax_utils.unreplicate(w), [loss[0] for loss in losses]]
