"""Lists in whose place a tree of arrays comes, and which get other arrays later, in sight and out of it."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
OWN = jnp.arange(24.0).reshape(8, 3)


def step(tree, x):
    mean = jax.lax.pmean(x.mean(0), "batch")
    return jax.tree.map(lambda w: w - 0.125 * mean * w, tree)


one_step, two_step, three_step = (jax.pmap(lambda t, x: step(t, x), axis_name="batch") for _ in range(3))


def appended(other):
    made = [jax_utils.replicate(jnp.ones(3))]
    kept = made
    tree = one_step(jax_utils.replicate({"a": jnp.ones(3)}), shard(BATCH)) if other else made
    kept.append(OWN)
    tree = one_step(tree, shard(BATCH))
    return jax.tree.map(lambda x: x[0], tree), kept


def within_a_tuple(again):
    inner = [jax_utils.replicate(jnp.ones(3))]
    tree = (inner, jax_utils.replicate(jnp.ones(3)))
    for _ in range(2):
        tree = two_step(tree, shard(BATCH))
    inner.append(OWN)
    if again:
        tree = two_step((inner, tree[1]), shard(BATCH))
    return jax.tree.map(lambda x: x[0], tree), inner


def fill(things):
    things.append(OWN)


FILLING = {"fill": fill}


def out_of_sight(other):
    made = []
    FILLING["".join(["fi", "ll"])](made)
    tree = three_step(jax_utils.replicate([jnp.ones(3)]), shard(BATCH)) if other else made
    tree = three_step(tree, shard(BATCH))
    return jax.tree.map(lambda x: x[0], tree), made


found = [run(flag) for run in (appended, within_a_tuple, out_of_sight) for flag in (False, True)]
RESULT = [np.asarray(x) for x in jax.tree.leaves(found)]
