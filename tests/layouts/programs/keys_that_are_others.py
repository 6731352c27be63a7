"""Keys in loops that turn out to be others: changed in the loop, given back by a function, added out of sight."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    mean = jax.lax.pmean(x.mean(0), "batch")
    return {"mean": w * mean, "own": w * x.mean(0), "other": w + mean}


one_step = jax.pmap(lambda w, x: step(w, x), axis_name="batch")
two_step = jax.pmap(lambda w, x: step(w, x), axis_name="batch")
three_step = jax.pmap(lambda w, x: step(w, x), axis_name="batch")
four_step = jax.pmap(lambda w, x: step(w, x), axis_name="batch")


def changed():
    out, found = one_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH)), []
    for key in ("mean", "other"):
        if found:
            key = "own"
        found.append(np.asarray(out[key][0]))
    return found, np.asarray(one_step(out["mean"], shard(BATCH))[key][0])


def renamed(key):
    return {"mean": "own", "other": "mean"}[key]


def by_a_function():
    out = two_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
    kept = {renamed(k): out[renamed(k)] for k in ("mean", "other")}
    again = two_step(kept["own"], shard(BATCH))
    return np.asarray(kept["own"][0]), np.asarray(kept["mean"][0]), np.asarray(again["other"][0])


def add(names):
    names["own"] = 1


ADDING = {"add": add}


def added_out_of_sight():
    out, names = three_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH)), {"mean": 0}
    ADDING["".join(["a", "dd"])](names)
    kept = {k: out[k] for k in names}
    return [np.asarray(three_step(v, shard(BATCH))["mean"][0]) for v in kept.values()]


def late():
    """A generator runs when it is asked, with what the names stand for by then."""
    out = four_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
    lazy = (out[k] for k in ("mean", "other"))
    out = {"mean": out["own"], "other": out["other"]}
    return [np.asarray(v[0]) for v in lazy]


RESULT = [np.asarray(x) for x in jax.tree.leaves([changed(), by_a_function(), added_out_of_sight(), late()])]
