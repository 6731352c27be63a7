"""A step under jit with options, which are given before it, in a partial: its results are told apart."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


@functools.partial(jax.jit, static_argnums=0, static_argnames=("flag",))
def train_step(scale, w, x, flag=True):
    grad = jax.grad(lambda w: jnp.mean((x @ w * scale - 1) ** 2))(w)
    grad = jax.lax.pmean(grad, "batch")
    return w - 0.1 * grad, {"norm": jnp.sum(grad**2)}, x * 2 if flag else x


def main():
    w = jax_utils.replicate(jnp.ones(3))
    p_step = jax.pmap(functools.partial(train_step, 2.0, flag=False), axis_name="batch")  # expect: replicated, split -> replicated, replicated, stacked
    norms = []
    for i in range(3):
        w, stats, rows = p_step(w, shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)))
        norms.append(jax_utils.unreplicate(stats)["norm"])
    return {"w": jax_utils.unreplicate(w), "norms": norms, "rows": rows[3]}


RESULT = main()
