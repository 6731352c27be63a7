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


SEVERAL = """\
import jax
from elsewhere import gather_all

class State:
    def process_allgather(self):
        return gather_all(self)

class Other(State):
    def process_allgather(self):
        return self

def run(state, ckpt, loader):
    is_master = jax.process_index() == 0
    def save(step, one):
{body}
    save(0, state)
"""


def test_what_several_classes_gather() -> None:
    """A method that goes by the name of JAX's is one that all processes take part in."""
    assert lines("if is_master:\n    ckpt.save(step, one.process_allgather())", SEVERAL) == [2]
    assert lines("all = one.process_allgather()\nif is_master:\n    ckpt.save(step, all)", SEVERAL) == []
    assert lines("if is_master:\n    one.assert_equal(step)", SEVERAL) == []


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
        ("args.rank = jax.process_index()\nif args.rank == 0:\n    state = step(state, make(batch, sharding))", [3]),
        ("args.rank = 0\nif args.rank == 0:\n    state = step(state, make(batch, sharding))", []),
        ("if start is None:\n    break\nstate = step(state, batch)", []),
        ("try:\n    state = step(state, batch)\nexcept ValueError:\n    continue", []),
    ],
)
def test_what_only_some_processes_reach(body: str, where: list[int]) -> None:
    """A jitted function over arrays of all processes waits for all of them, as a manager's save does."""
    assert lines(body) == where


def test_a_program_that_maps_by_pmap_jits_for_one_process() -> None:
    """What the chief process computes by itself, from arrays of its own, holds nobody up."""
    mapped = PROGRAM + MAPPED
    assert lines("if jax.process_index() == 0:\n    print(step(1, 2))", mapped) == []


def test_a_batch_that_one_process_cannot_read() -> None:
    """The others wait in the step for the process that goes on to its next batch; what reads no data fails on all."""
    mapped = PROGRAM + MAPPED
    text = "try:\n    {before}\n    state = mapped(state, batch)\nexcept ValueError:\n    continue"
    assert lines(text.format(before="batch = next(loader)"), mapped) == [3]
    assert lines(text.format(before="limit = budget.resolve()"), mapped) == []


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        ("(StopIteration, OSError)", [3]),
        ("OSError", [3]),
        ("(StopIteration, KeyError)", []),  # which all processes run into
    ],
)
def test_one_of_several_exceptions_that_a_process_runs_into_alone(kind: str, where: list[int]) -> None:
    mapped = PROGRAM + MAPPED
    text = f"try:\n    batch = next(loader)\n    state = mapped(state, batch)\nexcept {kind}:\n    continue"
    assert lines(text, mapped) == where


def test_a_check_of_values_that_fails_on_one_process() -> None:
    mapped = PROGRAM + MAPPED + "\n\ndef checked(x):\n    assert x.all()\n    return x\n"
    text = "try:\n    limits = checked(start)\n    state = mapped(state, batch)\nexcept {kind}:\n    continue"
    assert lines(text.format(kind="AssertionError"), mapped) == [3]
    assert lines(text.format(kind="TypeError"), mapped) == []


MAPPED = """

mapped = jax.pmap(lambda state, batch: jax.lax.pmean(state + batch, "i"), axis_name="i")
"""
GIVEN = """

@functools.partial(jax.pmap, axis_name="i")
def mapped(state, batch):
    return jax.lax.pmean(state + batch, "i")


def run(function, state, *, batch):
    return function(state, batch)


def note(function, state):
    print(function.__name__, state)


def make():
    @functools.partial(jax.pmap, axis_name="i")
    def inner(state, batch):
        return jax.lax.psum(state * batch, "i")
    return inner


made = make()


def is_lead():
    return not multihost_utils or int(os.environ["RANK"]) == 0
"""


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ("if jax.process_index() == 0:\n    state = run(mapped, state, batch=batch)", [2]),
        ("if jax.process_index() == 0:\n    state = run(abs, state, batch=batch)", []),
        ("if jax.process_index() == 0:\n    note(mapped, state)", []),
        ("if jax.process_index() == 0:\n    state = made(state, batch)", [2]),
        ("if not is_lead():\n    continue\nstate = mapped(state, batch)", [3]),
        ("if is_lead():\n    print(state)\nstate = mapped(state, batch)", []),
    ],
)
def test_mapped_functions_that_are_given_or_made(body: str, where: list[int]) -> None:
    assert lines(body, "import functools, os\n" + PROGRAM + GIVEN) == where
