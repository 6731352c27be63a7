"""What the recorder notes of the host's arrays while the original runs; `test_witness.py` runs it, as it needs JAX."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from jaxmigrate.verify.child import log, witness

N = 8


@pytest.fixture(autouse=True)
def no_jax() -> None:
    """These run by themselves."""


class Lines:
    """A log in memory."""

    def __init__(self) -> None:
        self.written: list[dict[str, Any]] = []

    def write(self, record: dict[str, Any]) -> None:
        self.written.append(record)


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Lines:
    found = Lines()
    monkeypatch.setattr(log, "CONFIG", {"observe": True, "devices": N})
    monkeypatch.setattr(log, "current", lambda: found)
    for name, empty in (("_sources", {}), ("_said", {}), ("_given", set()), ("_cut", {})):
        monkeypatch.setattr(witness, name, empty)
    return found


def rows(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape).copy()


def made(lines: Lines, given: Any, result: Any) -> str:
    """What is said of a call that is given something and gives something."""
    witness.host("~operand", given)
    assert witness.host("call\t~operand", result) is result
    return next(str(line["does"]) for line in reversed(lines.written) if line["k"] == "host")


@pytest.mark.parametrize(
    ("given", "result", "does"),
    [
        (rows(3), np.stack([rows(3)] * N), "replicates\t~operand"),
        ({"w": rows(3), "n": 1.0}, {"w": np.stack([rows(3)] * N), "n": np.ones(N)}, "replicates\t~operand"),
        (rows(16, 3), rows(16, 3).reshape(N, 2, 3), "splits\t~operand"),
        (rows(3).astype(np.float64), np.stack([rows(3)] * N), "replicates\t~operand"),  # as devices hold it
        (rows(3), np.stack([rows(3).astype(np.float16)] * N), "equal"),  # of another dtype
        (rows(4), np.stack([rows(3)] * N), "equal"),
        (rows(3), rows(N, 3), "rows"),
        (rows(16, 3), rows(16, 3).reshape(N, 2, 3)[::-1].copy(), "rows"),
        (rows(3), rows(4, 3), ""),
    ],
)
def test_what_a_call_makes_of_what_it_is_given(lines: Lines, given: Any, result: Any, does: str) -> None:
    assert made(lines, given, result) == does


def test_a_call_that_does_one_thing_and_another_does_neither(lines: Lines) -> None:
    made(lines, rows(3), np.stack([rows(3)] * N))
    assert made(lines, rows(3), rows(N, 3)) == ""
    assert made(lines, rows(3), np.stack([rows(3)] * N)) == ""


def test_a_batch_is_known_for_one_wherever_it_is_copied_to(lines: Lines) -> None:
    batch = witness.host("cut", rows(16, 3).reshape(N, 2, 3))
    state = rows(N, 2, 3) + 1
    witness.given("site", (jax.device_put(batch), state, batch))
    told = {line["argument"]: (line["from"], line["cut"]) for line in lines.written if line["k"] == "given"}
    assert told == {0: ([()], True), 1: ([()], False), 2: ([("cut",)], True)}


def test_results_of_maps_are_told_apart(lines: Lines) -> None:
    result = jax.numpy.ones((N, 2))
    witness.gave("step", {"x": result})
    witness.host("helper", result)
    witness.given("step", (result,))
    assert [line["from"] for line in lines.written if line["k"] == "given"] == [[("@step", "helper")]]


def test_what_cannot_be_looked_at_is_handed_on(lines: Lines) -> None:
    for odd in (object(), None, "text", [], {1: 2, "a": 3}, np.array([object()]), iter("ab")):
        assert witness.host("odd", odd) is odd
    assert lines.written == []
