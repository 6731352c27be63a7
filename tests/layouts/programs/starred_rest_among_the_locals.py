"""What a starred name gets is read where all local names are."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch"), jax.lax.pmean(loss, "batch"), jax.lax.pmean(x.sum(0), "batch")


p_step = jax.pmap(step, axis_name="batch")


def train(w):
    w, *_rest = p_step(w, shard(BATCH))
    found = {name: value for name, value in locals().items() if name.startswith("_")}
    return w, [np.asarray(one).sum() for value in found.values() for one in value]


w, sums = train(jax_utils.replicate(jnp.ones(3)))
RESULT = [jax_utils.unreplicate(w), sums]
