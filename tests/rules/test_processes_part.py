"""JM301 for processes that part: what they then wait for is jitted over all devices, a manager, or far below."""

from __future__ import annotations

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PROGRAM = """\
import time
import jax
import orbax.checkpoint
from jax.experimental import multihost_utils


def make(batch, sharding):
    return jax.make_array_from_process_local_data(sharding, batch)


@jax.jit
def step(state, batch):
    return state + batch


@jax.jit
def picture(latents):
    return latents * 255


def train(state, loader, sharding, manager, budget):
    start = time.time()
    for batch in loader:
{body}
    return state
"""


def lines(body: str, program: str = PROGRAM) -> list[int]:
    """The lines of the loop's body at which JM301 stands."""
    indented = "\n".join(f"        {line}" for line in body.splitlines())
    text = program.replace("{body}", indented)
    first = text[: text.index(indented)].count("\n")
    return [one.line - first for one in lint([decode(text.encode(), "a.py", None)], Config()) if one.code == "JM301"]


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ("if jax.process_index() == 0:\n    state = step(state, make(batch, sharding))", [2]),
        ("state = step(state, make(batch, sharding))", []),
        ("if jax.process_index() == 0:\n    print(state)", []),
        ("if jax.process_index() == 0:\n    print(picture(batch))", []),  # which is the process's own
        ("if jax.process_index() == 0:\n    manager.save(0, state)", [2]),
        ("manager.save(0, state)", []),
        ("now = time.time()\nif now - start > budget:\n    return state\n\n\n\nstate = step(state, batch)", [2]),
        ("if time.time() - start > budget:\n    print(start)\nstate = step(state, batch)", []),
        ("if start is None:\n    break\nstate = step(state, batch)", []),
        ("try:\n    state = step(state, batch)\nexcept ValueError:\n    continue", []),
    ],
)
def test_what_only_some_processes_reach(body: str, where: list[int]) -> None:
    """A jitted function over arrays of all processes waits for all of them, as a manager's save does."""
    assert lines(body) == where


def test_a_program_that_maps_by_pmap_jits_for_one_process() -> None:
    """What the chief process computes by itself, from arrays of its own, holds nobody up."""
    mapped = PROGRAM + "\n\nmapped = jax.pmap(step)\n"
    assert lines("if jax.process_index() == 0:\n    print(step(1, 2))", mapped) == []


def test_a_batch_that_one_process_cannot_read() -> None:
    """The others wait in the step for the process that goes on to its next batch; what reads no data fails on all."""
    mapped = PROGRAM + "\n\nmapped = jax.pmap(step)\n"
    text = "try:\n    {before}\n    state = mapped(state, batch)\nexcept ValueError:\n    continue"
    assert lines(text.format(before="batch = next(loader)"), mapped) == [3]
    assert lines(text.format(before="limit = budget.resolve()"), mapped) == []
