"""JM506 for other names of what a step is given to keep: they hold deleted arrays, too."""

from __future__ import annotations

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

TOP = """\
import functools
import jax


@functools.partial({donating})
def step(state, batch):
    return state.apply_gradients(grads=batch)


def train(state, batches, log):
"""
JIT, PMAP = "jax.jit, donate_argnums=0", 'jax.pmap, axis_name="i", donate_argnums=0'


def read_at(body: str, donating: str = JIT) -> list[int]:
    """The lines of the function at which JM506 stands."""
    text = TOP.format(donating=donating) + "".join(f"    {line}\n" for line in body.splitlines())
    found = [one.line for one in lint([decode(text.encode(), "a.py", None)], Config()) if one.code == "JM506"]
    return [line - TOP.count("\n") for line in found]


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("old = state.params\nstate = step(state, batches[0])\nlog(old)", 3),
        ("for b in batches:\n    old = state.params\n    state = step(state, b)\n    if log:\n        log(old)", 5),
        ("before = state\nfor b in batches:\n    state = step(state, b)\nlog(before)", 4),
        ("before = state.opt_state\nwhile log():\n    state = step(state, batches[0])\nreturn state, before", 4),
        ("ema = state\nfor b in batches:\n    state = step(state, b)\n    ema = log(ema, state)", 4),
    ],
)
def test_another_name_of_what_was_donated(body: str, line: int) -> None:
    """Is read after the step has it, in whose first round it is deleted (each raises on 8 devices)."""
    assert read_at(body) == [line]


def test_a_field_in_a_round_of_a_pmap() -> None:
    """What a map gave is on its devices, and is donated there."""
    body = "for b in batches:\n    old = state.params\n    state = step(state, b)\n    log(old)"
    assert read_at(body, PMAP) == [4]


@pytest.mark.parametrize(
    "body",
    [
        "old = jax.tree.map(lambda x: x.copy(), state.params)\nstate = step(state, batches[0])\nlog(old)",
        "old = state.params\nlog(old)\nstate = step(state, batches[0])",
        "tx = state.tx\nstate = step(state, batches[0])\nlog(tx)",
        "step_of = state.params.shape\nstate = step(state, batches[0])\nlog(step_of)",
        "before = state\nstate = log(state)\nfor b in batches:\n    state = step(state, b)\nlog(before)",
        "best = state\nfor b in batches:\n    state = step(state, b)\n    best = state\nlog(best)",
        "old = state.params\nstate = step(state, batches[0])\nold = state.params\nlog(old)",
        "for b in batches:\n    state = step(state, b)\n    last = state.params\n    log(last)",
    ],
)
def test_names_of_what_is_there(body: str) -> None:
    """Copies, what is no array, and what is bound anew."""
    assert read_at(body) == []


def test_what_a_map_moves_to_its_devices_first() -> None:
    """Arrays that are on one device are copied in the first round of a pmap, and stay."""
    assert read_at("before = state\nfor b in batches:\n    state = step(state, b)\nlog(before)", PMAP) == []


def test_a_field_that_is_declared_static() -> None:
    """Is no array."""
    text = TOP.format(donating=JIT) + "    fn = state.param_fn\n    state = step(state, batches)\n    log(fn)\n"
    text += "class State:\n    param_fn: object = field(pytree_node=False)\n"
    assert not [one for one in lint([decode(text.encode(), "a.py", None)], Config()) if one.code == "JM506"]
