"""What a starred name gets is read by nothing, or by one function, through the locals, by name, or in a later call."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch"), jax.lax.pmean(loss, "batch"), jax.lax.pmean(x.sum(0), "batch"), loss


p_step = jax.pmap(step, axis_name="batch")


def train(w, rounds):
    for _ in range(rounds):
        w, *_ = p_step(w, shard(BATCH))
    w, loss, *rest = p_step(w, shard(BATCH))
    return w, jax_utils.unreplicate(loss), [np.asarray(one).sum() for one in rest]


def last(w):
    w, *more, local = p_step(w, shard(BATCH))

    def total():
        return sum(np.asarray(one).sum() for one in more)

    return jax_utils.unreplicate(w), total(), local.std()


w, loss, rest = train(jax_utils.replicate(jnp.ones(3)), 2)
RESULT = [loss, rest, last(w)]
