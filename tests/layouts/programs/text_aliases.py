"""Libraries under other names, partly imported inside functions."""
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

import flax.jax_utils as fju
import flax.training.common_utils as cu
from jax.tree_util import tree_map as tmap


def train():
    from flax.jax_utils import replicate as to_all, unreplicate as back
    import jax.numpy as np2

    w = to_all({"w": np2.ones(3)})
    w = tmap(lambda a: p_step(a, cu.shard(BATCH)), w)
    return back(w), fju.unreplicate(w)


RESULT = train()
