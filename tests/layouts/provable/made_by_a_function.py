"""A function makes the mapped step, another one trains with it."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def make_step(rate):
    def step(w, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
        return w - rate * jax.lax.pmean(grad, "batch")

    return jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated


def train(w, p_step, steps):
    w = jax_utils.replicate(w)
    for i in range(steps):
        w = p_step(w, shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)))
    return jax_utils.unreplicate(w)


RESULT = train(jnp.zeros(3), make_step(0.1), 3)
