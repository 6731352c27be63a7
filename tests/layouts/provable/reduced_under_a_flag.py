"""Steps that reduce only where they are told that they are mapped, which they all are."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def pmean_if_mapped(tree, axis_name=None):
    if axis_name is None:
        return tree
    return jax.lax.pmean(tree, axis_name)


def make_step(axis_name=None, mode="mean"):
    reduce = jax.lax.pmean if mode == "mean" else jax.lax.psum
    grads_of = jax.grad(lambda w, x: jnp.mean((x @ w - 1) ** 2))

    def mean_grads(*args):
        return reduce(grads_of(*args), axis_name)

    chosen = grads_of if axis_name is None else mean_grads

    def step(w, x):
        return w - 0.1 * chosen(w, x)

    return step


def make_other(distributed):
    def step(w, x):
        grads = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
        if distributed:
            grads = jax.lax.pmean(grads, "batch")
        loss = pmean_if_mapped(jnp.mean(x @ w), "batch")
        return w - 0.1 * grads, loss

    return step


def main():
    first = jax.pmap(make_step("batch"), axis_name="batch")  # expect: replicated, split -> replicated
    second = jax.pmap(make_other(True), axis_name="batch")  # expect: replicated, split -> replicated, replicated
    w = jax_utils.replicate(jnp.zeros(3))
    for i in range(3):
        x = np.arange(48, dtype=np.float32).reshape(16, 3) / 9 + i
        w = first(w, shard(x))
        w, loss = second(w, shard(x))
    return jax_utils.unreplicate(w), jax_utils.unreplicate(loss)


RESULT = main()
