"""Dictionaries of results that are fed back, changed on the host, taken whole, or have other keys in another call."""
import collections
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.core import freeze
from flax.training.common_utils import shard

FLAGS = {"norms": True}


def mean(tree):
    return jax.lax.pmean(tree, "i")


def step(params, x):
    return {"params": params - 0.1 * mean(params * x), "own": x + params}


def by_flag(params, x):
    found = {"loss": mean(x.sum()), "own": x}
    if FLAGS["norms"]:
        found["norm"] = mean(jnp.abs(params).sum())
    return found


def by_static(params, x, train):
    if train:
        return {"loss": mean(x.sum()), "own": x}
    return {"loss": mean(x.sum()), "own": x, "params": params}


def by_loop(params, x):
    found = {"own": x}
    for name in ("loss", "total"):
        found[name] = mean(x.sum() * params)
    return found


def added(found, value):
    found["more"] = value
    return found


def by_alias(params, x):
    found = {"loss": mean(x.sum()), "own": x}
    same = found
    added(same, params)
    return found


def by_closure(params, x):
    found = {"loss": mean(x.sum()), "own": x}

    def note(value):
        found["noted"] = value * 2
        return value

    return jax.tree.map(lambda a: a, found) if note(params) is None else found


def frozen(params, x):
    return freeze({"loss": mean(x.sum()), "own": x * params})


def ordered(params, x):
    return collections.OrderedDict(own=x * params, loss=mean(x.sum()))


def two(params, x):
    return {"own": x * params, "loss": mean(x.sum())}, {"loss": mean(params.sum()), "own": params + x}


p_step = jax.pmap(step, axis_name="i")
p_by_flag = jax.pmap(by_flag, axis_name="i")
p_by_static = jax.pmap(by_static, axis_name="i", static_broadcasted_argnums=2)
p_by_loop = jax.pmap(by_loop, axis_name="i")
p_by_alias = jax.pmap(by_alias, axis_name="i")
p_by_closure = jax.pmap(by_closure, axis_name="i")
p_frozen = jax.pmap(frozen, axis_name="i")
p_ordered = jax.pmap(ordered, axis_name="i")
p_two = jax.pmap(two, axis_name="i")
p_again = jax.pmap(lambda found: {**found, "loss": found["loss"] + jax.lax.axis_index("i")}, axis_name="i")


def main():
    n = jax.local_device_count()
    params = jax_utils.replicate(jnp.arange(3.0))
    x = shard(np.arange(n * 6, dtype=np.float32).reshape(n * 2, 3) / 9)
    found = []
    state = p_step(jax_utils.replicate(jnp.arange(3.0)), shard(np.ones((n * 2, 3), np.float32)))
    for _ in range(2):
        state = p_step(state["params"], state["own"])
        found += [state["params"][0], state["own"]]
    found += [jax_utils.unreplicate(state), [value[1] for value in state.values()]]
    metrics = p_by_flag(params, x)
    metrics["step"] = 3
    metrics["loss"] = metrics["loss"].sum()
    found += [metrics, {**p_by_flag(params, x), "more": 1}]
    for train in (True, False):
        found.append({name: value[2] for name, value in p_by_static(params, x, train).items()})
    found += [p_by_loop(params, x)["loss"][0], p_by_loop(params, x)["own"]]
    found += [p_by_alias(params, x)["loss"][0], p_by_alias(params, x)["more"][0], p_by_alias(params, x)["own"]]
    found += [p_by_closure(params, x)["loss"][0], p_by_closure(params, x)["noted"][0], p_by_closure(params, x)["own"]]
    found += [p_frozen(params, x)["loss"][0], p_frozen(params, x)["own"]]
    found += [p_ordered(params, x)["loss"][0], p_ordered(params, x)["own"]]
    first, second = p_two(params, x)
    for each in (first, second):
        found += [each["loss"][0], each["own"]]
    kept = [p_two(params, x)[0] for _ in range(2)]
    found += [jax.tree.map(lambda *a: np.stack(a), *kept), kept[0].items() is kept]
    found += [p_again(p_again(p_two(params, x)[1]))]
    return found


RESULT = [np.asarray(x) for x in jax.tree.leaves(main())]
