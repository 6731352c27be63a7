"""replicate in the conditions of elif, while, with, return, assert and match."""
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

def choose(kind):
    if kind == "none":
        return None
    elif (w := jax_utils.replicate(jnp.ones(3))) is None:
        return 1
    elif kind == "once":
        return p_step(w, shard(BATCH))[0]
    while (w := p_step(w, shard(BATCH))) is not None:
        if kind:
            break
    match kind:
        case "twice" if w is not None:
            return p_step(w, shard(BATCH))[0]
        case _:
            assert p_step(w, shard(BATCH)) is not None
            return jax_utils.unreplicate(p_step(w, shard(BATCH)))


RESULT = [choose(kind) for kind in ("none", "once", "twice", "more")]
