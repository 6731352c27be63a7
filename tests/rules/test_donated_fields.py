"""JM506 for fields, arguments by keyword, and names that `donate_argnames` lists."""

from __future__ import annotations

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

STEP = """\
import functools
import jax


@functools.partial(jax.jit, {donated})
def update(state, batch):
    return state.apply_gradients(grads=batch), batch.mean()


class Trainer:
    def __init__(self, state):
        self.state = state

    def run(self, batch):
        {before}
        {target}, loss = update({given})
        {after}
        return loss
"""


def lines(**parts: str) -> list[int]:
    """Where JM506 stands in the program with these parts."""
    text = STEP.format(**{"donated": 'donate_argnames="state"', "before": "pass", "after": "pass"} | parts)
    return [one.line for one in lint([decode(text.encode(), "a.py", None)], Config()) if one.code == "JM506"]


@pytest.mark.parametrize("donated", ['donate_argnames="state"', 'donate_argnames=("state",)', "donate_argnums=0"])
@pytest.mark.parametrize("given", ["self.state, batch", "state=self.state, batch=batch"])
def test_a_field_is_read_after_it_was_donated(donated: str, given: str) -> None:
    """`self.state` is deleted once the step has it, however it is given and listed."""
    assert lines(donated=donated, given=given, target="new", after="print(self.state.params)") == [17]


@pytest.mark.parametrize(
    "parts",
    [
        {"target": "self.state", "after": "print(self.state.params)"},
        {"target": "new", "after": "self.state = new; print(self.state.params)"},
        {"target": "new", "after": "self.set(new); print(self.state.params)"},  # which may set the field
        {"target": "new", "after": "print(self.state.params.shape)"},
        {"target": "new", "after": "print(self.state.params)", "donated": 'donate_argnames="batch"'},
    ],
)
def test_a_field_that_holds_another_array_by_then(parts: dict[str, str]) -> None:
    """Is read as it should be."""
    assert lines(given="self.state, batch", **parts) == []


def test_another_name_of_a_field() -> None:
    """`before = self.state` is the same array."""
    parts = {"before": "before = self.state", "target": "self.state", "after": "print(before.params)"}
    assert lines(given="self.state, batch", **parts) == [17]


LOOP = """\
import jax, numpy as np

step = jax.jit(lambda state, batch: (state + batch, batch.mean()), donate_argnums=0)


def train(state, batches):
    for batch in batches:
        new_state, loss = step(state, batch)
        {after}
    return state
"""


@pytest.mark.parametrize(
    ("after", "lines"),
    [
        ("if np.isfinite(loss): state = new_state", [8]),
        ("if np.isnan(loss):\n            print('nan')\n        else:\n            state = new_state", [8]),
        ("state = new_state", []),
        ("if np.isnan(loss): break\n        state = new_state", []),
        ("if np.isnan(loss):\n            raise ValueError\n        else:\n            state = new_state", []),
        ("if np.isnan(loss):\n            state = new_state\n        else:\n            state = new_state * 0", []),
    ],
)
def test_a_name_that_is_bound_again_on_one_way_only(after: str, lines: list[int]) -> None:
    found = lint([decode(LOOP.replace("{after}", after).encode(), "a.py", None)], Config())
    assert [one.line for one in found if one.code == "JM506"] == lines
