"""operator.attrgetter, itemgetter and methodcaller."""
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

import operator


class Trainer:
    def __init__(self):
        self.tree = {"w": p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))}


trainer = Trainer()
RESULT = [
    np.asarray(operator.attrgetter("tree")(trainer)["w"]).sum(),
    operator.itemgetter("w")(trainer.tree).shape,
    operator.methodcaller("sum")(trainer.tree["w"]),
    trainer.tree["w"][0],
]
