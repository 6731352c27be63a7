"""A dictionary in whose place a tree of arrays comes: what is stored under one name is read under the other."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(tree, x):
    mean = jax.lax.pmean(x.mean(0), "batch")
    return jax.tree.map(lambda w: w - 0.125 * mean * w, tree)


p_step = jax.pmap(step, axis_name="batch")


class Trainer:
    """Keeps its parameters in a list, which a map gives back: `[0]` is the first of them, and no device's."""

    def __init__(self):
        self.params = [jax_utils.replicate(jnp.arange(6.0).reshape(2, 3)), jax_utils.replicate(jnp.ones(3))]

    def train(self):
        self.params = p_step(self.params, shard(BATCH))
        return self.params[0], self.params[0][0]


def stored(other):
    made = {"m": jax_utils.replicate(jnp.ones(3))}
    tree = p_step(jax_utils.replicate({"m": jnp.ones(3)}), shard(BATCH)) if other else made
    tree["z"] = jax_utils.replicate(jnp.full(3, 3.0))
    tree["a"] = jax_utils.replicate(jnp.full(3, 2.0))
    seen = [] if other else [made["z"], made["a"][0]]
    one = jax_utils.unreplicate(tree)
    return seen, jnp.concatenate([*one.values()]), jax_utils.unreplicate(p_step(tree, shard(BATCH)))


trainer = Trainer()
found = [stored(False), stored(True), trainer.train(), trainer.train()]
RESULT = [np.asarray(x) for x in jax.tree.leaves(found)]
