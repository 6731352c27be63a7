"""A program's main function under decorators that the project has elsewhere: they leave it on the host."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard
from options import timed, with_steps


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch"), jax.lax.pmean(loss, "batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated, replicated


@timed
@with_steps(3)
def main(seed, steps):
    w = jax_utils.replicate(jnp.ones(3))
    for i in range(steps):
        w, loss = p_step(w, shard(np.cos(np.arange(48, dtype=np.float32) * (i + seed)).reshape(16, 3)))
    return save(w), float(loss[0])


def save(w):
    return np.asarray(jax_utils.unreplicate(w))


RESULT = main(1)
