"""Objects that are changed in place in the body of a map, under another name than the one that is returned.

However an object came about and by whatever name it is changed, what it was called equal for no longer holds of it.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import plan_sources
from tests.flow.variance.unwritten import unwritten

PROGRAM = """import contextlib, copy, functools, operator
import flax
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training.common_utils import shard


class Box:
    pass


def note(found, value):
    found["own"] = value


def step(w, kept, x):
    loss = jnp.mean((x @ w - 1) ** 2) + kept["own"]
    own = {own}
    made = {{"loss": kept["loss"] + 1, "own": kept["own"] + 1}}
{body}
    return w - jax.lax.pmean(loss, "batch"), kept


p_step = jax.pmap(step, axis_name="batch")
w = jax_utils.replicate(np.ones(3))
kept = jax_utils.replicate({{"loss": np.float32(0), "own": np.float32(0)}})
for _ in range(3):
    w, kept = p_step(w, kept, shard(np.ones((16, 3))))
"""
DIFFERENT, EQUAL = "loss * loss", "kept['loss'] * 2"

# What makes a dictionary of equal numbers. The second ones are not followed so far as to say so.
PROVEN = [
    "means = made",
    "means = kept",
    'means = {"loss": kept["loss"], "own": kept["own"]}',
    'means = dict(loss=kept["loss"], own=kept["own"])',
    "means = dict(made)",
    "means = {**made}",
    "means = made.copy()",
    "means = copy.copy(made)",
    "means = {name: value + 1 for name, value in made.items()}",
    'means = made | {"loss": kept["loss"]}',
    'means = jax.lax.pmean(made, "batch")',
    'means = jax.lax.psum(kept, "batch")',
    '_, means = jax.lax.pmean((loss, made), "batch")',
    'means = jax.tree.map(lambda v: jax.lax.pmean(v, "batch"), made)',
    "means = jax.tree.map(jnp.add, made, kept)",
    "means = jax.lax.stop_gradient(made)",
    'means = jax.grad(lambda k: k["loss"] * k["own"])(made)',
    '_, means = jax.value_and_grad(lambda k: k["loss"] * k["own"])(made)',
    '(_, means), _ = jax.value_and_grad(lambda k: (k["loss"] * k["own"], kept), has_aux=True)(made)',
    "means, _ = jax.lax.scan(lambda c, _: (c, None), made, None, length=2)",
    "means = jax.lax.cond(True, lambda: made, lambda: kept)",
    "means = jax.jit(lambda c: c)(made)",
    "leaves, tree = jax.tree.flatten(made)\n    means = jax.tree.unflatten(tree, leaves)",
    "means = optax.apply_updates(made, kept)",
    "means, _ = optax.clip(1.0).update(made, optax.EmptyState())",
    "means = max([made], key=len)",
    "means = made if True else kept",
]
UNPROVEN = [
    "means = next(iter([made]))",
    "means = next(reversed([made]))",
    "means = jax.tree.leaves([made], is_leaf=lambda v: isinstance(v, dict))[0]",
    "means = jax.tree.flatten([made], is_leaf=lambda v: isinstance(v, dict))[0][0]",
    '_, back = jax.vjp(lambda k: k["loss"] * k["own"], made)\n    (means,) = back(jnp.float32(1))',
]

# Another name for it, and how what is returned is read from that
ALIASES = {
    "name": ("alias = means", "kept = alias"),
    "list": ("alias = [means]", "kept = alias[0]"),
    "tuple": ("alias = (means, loss)", "kept = alias[0]"),
    "dictionary": ('alias = {"a": means}', 'kept = alias["a"]'),
    "attribute": ("alias = Box()\n    alias.of = means", "kept = alias.of"),
    "closure": ("alias = lambda: means", "kept = alias()"),
}
CHANGES = [
    'means["own"] = own',
    "means.update(own=own)",
    'means.update({"own": own})',
    'means |= {"own": own}',
    "note(means, own)",
    'means.pop("own")\n    means.setdefault("own", own)',
    "put = means.update\n    put(own=own)",
    'operator.setitem(means, "own", own)',
    "dict.update(means, own=own)",
    'for means["own"] in [own]:\n        pass',
    'with contextlib.nullcontext(own) as means["own"]:\n        pass',
]

# Changes of what an argument holds
INNER = [
    'kept["in"]["own"] = own',
    'kept["in"].append(own)',
    'kept["in"] += [own]',
    "next(iter(kept.values())).update(own=own)",
    'kept.get("in").update(own=own)',
    'kept.setdefault("in", {}).update(own=own)',
    'kept.copy()["in"]["own"] = own',
    '{**kept}["in"]["own"] = own',
    "jax.tree.map(lambda a: a.update(own=own), [kept], is_leaf=lambda v: v is kept)",
    "jax.lax.fori_loop(0, 1, lambda i, c: (kept.update(own=own), c)[1], 0)",
    "def held():\n        yield kept\n    next(held())['own'] = own",
]


def layout(own: str, *lines: str) -> str:
    """The layout of what a step with these lines gives back for `kept`."""
    text = PROGRAM.format(own=own, body="\n".join(f"    {line}" for line in lines))
    plan, _ = plan_sources([("main.py", Path("/nowhere/main.py"), text)], PlanOptions("auto"))
    return plan.sites[0].outputs[1].layout


@pytest.mark.parametrize("made", [*PROVEN, *UNPROVEN])
def test_what_is_changed_under_another_name(made: str) -> None:
    ways = [(alias, change) for alias, change in product(ALIASES, CHANGES) if "name" in alias or change == CHANGES[0]]
    found = {(alias, change): _changed(made, alias, change) for alias, change in ways}
    assert {way: one for way, one in found.items() if one != "stacked"} == {}


def _changed(made: str, alias: str, change: str) -> str:
    first, last = ALIASES[alias]
    with unwritten(made != PROVEN[0] and (alias, change) != ("name", CHANGES[0])):  # each line is written once
        return layout(DIFFERENT, made, first, change, last)


@pytest.mark.parametrize("made", PROVEN)
def test_what_is_changed_to_hold_something_equal(made: str) -> None:
    first, last = ALIASES["name"]
    assert layout(EQUAL, made, first, CHANGES[0], last) == "replicated"


@pytest.mark.parametrize("change", INNER)
def test_what_an_argument_holds(change: str) -> None:
    assert layout(DIFFERENT, change) == "stacked"


@pytest.mark.parametrize(
    "returned",
    ["kept = kept.update(own)", "kept = kept.append(own)", "kept = kept.extend([own])", "kept = kept.insert(0, own)"],
)
def test_methods_named_as_those_of_containers_may_give_something(returned: str) -> None:
    assert layout(DIFFERENT, returned) == "stacked"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # numbers that are computed anew, whatever they were taken from: `a *= traced` changes no array in place
        (["part = kept['loss']", "part *= own"], "replicated"),
        (["part = optax.huber_loss(kept['loss'])", "part /= own"], "replicated"),
        # an object of the program's, perhaps
        (["class Own:\n        __imul__ = note", "part = kept['loss']", "part *= own"], "stacked"),
        (
            ["class Own:\n        def __imul__(self, other):\n            pass", "part = kept['loss']", "part *= own"],
            "stacked",
        ),
        # a list, perhaps
        (["part = kept['loss']", "part += own"], "stacked"),
        # a copy of what may be one of the arguments, and the same without one
        (["part = optax.scale_gradient(kept, 1.0)", "part = part._asdict()", "part['own'] = own"], "replicated"),
        (["part = optax.scale_gradient(kept, 1.0)", "part['own'] = own"], "stacked"),
        (["part = optax.scale_gradient(kept, 1.0).copy()", "part['loss']['own'] = own"], "stacked"),
    ],
)
def test_what_does_not_change_arguments(lines: list[str], expected: str) -> None:
    assert layout(DIFFERENT, *lines) == expected
