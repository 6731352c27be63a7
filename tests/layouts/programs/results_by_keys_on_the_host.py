"""What host code does to dictionaries of results whose entries have several layouts: in place, by other names, later."""
import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

LAST = {}


def results(x, scale):
    return {"loss": jax.lax.pmean(x.mean() * scale, "i"), "own": x * scale, "rows": x + 1}


def made(scale):
    return jax.pmap(functools.partial(results, scale=scale), axis_name="i")


p_step = made(2.0)
p_changed = jax.pmap(lambda x: {"loss": jax.lax.pmean(x.mean(), "i"), "own": x * 2}, axis_name="i")
p_listed = jax.pmap(lambda x: {"loss": jax.lax.pmean(x.mean(), "i"), "own": x * 3}, axis_name="i")
p_named = jax.pmap(lambda x: {"loss": jax.lax.pmean(x.mean(), "i"), "own": x * 4}, axis_name="i")
p_yielded = jax.pmap(lambda x: {"loss": jax.lax.pmean(x.mean(), "i"), "own": x * 5}, axis_name="i")
p_kept = jax.pmap(lambda x: {"loss": jax.lax.pmean(x.mean(), "i"), "own": x * 6}, axis_name="i")
p_spread = jax.pmap(lambda x: {"loss": jax.lax.pmean(x.mean(), "i"), "own": x * 7}, axis_name="i")
p_back = jax.pmap(lambda x: {"loss": jax.lax.pmean(x.mean(), "i"), "own": x * 8}, axis_name="i")
p_scaled = jax.pmap(lambda loss, x: x * loss, axis_name="i")
p_shared = jax.pmap(lambda x: {"loss": jax.lax.pmean(x.mean(), "i"), "own": x * 9}, axis_name="i")


def first(found):
    return float(found["loss"][0])


def yielded(xs):
    for x in xs:
        yield p_yielded(x)


class Kept:
    def __init__(self):
        self.found = None

    def run(self, x):
        self.found = p_kept(x)
        return self

    @property
    def loss(self):
        return self.found["loss"][0]


def shared(x, found=None):
    found = found or p_shared(x)
    return found["loss"][0], found["own"]


def main():
    x = shard(np.arange(48, dtype=np.float32).reshape(16, 3) / 7)
    out = []
    found = p_step(x)
    out += [first(found), found["own"], found["rows"].reshape(-1, 3)]
    changed = p_changed(x)
    same = changed
    same["loss"] = same["loss"][0]
    same.update(step=3)
    out += [changed["loss"].shape, changed["own"][1], changed]
    listed = [p_listed(x) for _ in range(2)]
    out += [one["loss"][0] for one in listed] + [listed[1]["own"]]
    named = p_named(x)
    out += [named[name][0] for name in named]
    for one in yielded([x, x]):
        out += [one["loss"][0], one["own"][2]]
    kept = Kept().run(x)
    out += [kept.loss, kept.found["own"]]
    spread = {**p_spread(x), "step": 1}
    out += [spread["loss"][0], dict(spread, own=1)["loss"][0], spread["own"]]
    back = p_back(x)
    out += [p_scaled(back["loss"], back["own"])]
    out += [*shared(x), *shared(x, {"loss": np.arange(8.0), "own": 1})]
    return out, json.dumps({name: np.asarray(value).tolist() for name, value in p_named(x).items()})


RESULT = [np.asarray(x) for x in jax.tree.leaves(main()) if not isinstance(x, str)]
