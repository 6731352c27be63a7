"""Where arguments come from: older results that are handed on, and sites whose results come in another way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.verify.case import Case
from jaxmigrate.verify.compare import compare
from jaxmigrate.verify.comparison import SiteComparison
from jaxmigrate.verify.judge import judge
from jaxmigrate.verify.model import LeafError, SiteInfo, Verdict
from jaxmigrate.verify.origins import stale_arguments, takers
from tests.verify.logs import Log, recording

Write = Callable[[Log], Any]
STEP, EVAL = SiteInfo("step", "x.py", 1, 1), SiteInfo("eval", "x.py", 2, 1)


def compared(folder: Path, original: Write, rewritten: Write, *, by_hand: bool = False) -> Mapping[str, SiteComparison]:
    for name, write in (("ours", original), ("theirs", rewritten)):
        write(Log(folder / name))
    return compare(recording(folder / "ours"), recording(folder / "theirs"), lenient=by_hand)


def trained(results: tuple[str, str], evaluated: str) -> Write:
    def write(log: Log) -> None:
        log.call("step", "start", results[0])
        log.call("step", results[0], results[1])
        log.call("eval", evaluated, f"loss of {evaluated}")

    return write


def test_an_older_result_is_wrong_however_near_it_is(tmp_path: Path) -> None:
    found = compared(tmp_path, trained(("p1", "p2"), "p2"), trained(("q1", "q2"), "q1"))
    near = LeafError(1e-9, 1e-9, 1.0, within=True)
    errors = {
        (pair.key, delta.where, delta.leaf or 0): near
        for site in found.values()
        for pair in site.pairs
        for delta in pair.deltas
    }
    sites = {one.id: one for one in (STEP, EVAL)}
    told = judge(Case(found, sites, 8, errors=errors, stale=stale_arguments(found)))
    assert [one.verdict for one in told] == [Verdict.WITHIN, Verdict.DIFFERENT]
    assert told[1].message.endswith(
        "the result of call 0 of x.py:1, where the original passes that of call 1 of x.py:1"
    ), told[1].message


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        pytest.param(trained(("p1", "p2"), "p2"), trained(("q1", "q2"), "q2"), id="the same result"),
        pytest.param(trained(("p1", "p2"), "p2"), trained(("q1", "q2"), "q2 moved"), id="no result of a call"),
        pytest.param(trained(("p1", "p1"), "p1"), trained(("q1", "q2"), "q2"), id="results that are the same"),
    ],
)
def test_other_arguments_are_none(tmp_path: Path, ours: Write, theirs: Write) -> None:
    assert not stale_arguments(compared(tmp_path, ours, theirs))


def initialised(log: Log) -> None:
    log.call("init", "p", "zeros")
    log.call("step", "zeros", "ones")


@pytest.mark.parametrize(("given", "found"), [("zeros", {"init": ("step",)}), ("other", {})])
def test_who_takes_the_results_of_a_site_that_is_gone(tmp_path: Path, given: str, found: dict[str, Any]) -> None:
    assert takers(compared(tmp_path, initialised, lambda log: log.call("step", given, "ones"), by_hand=True)) == found


def same(calls: int) -> Write:
    """A program whose `sync` gives what it is given, and whose `step` takes that."""

    def write(log: Log) -> None:
        for number in range(3):
            if number < calls:
                log.call("sync", "p", "p")
            log.call("step", "p", f"q{number}")

    return write


@pytest.mark.parametrize(
    ("calls", "by_hand", "copying", "found"),
    [
        (0, True, (), {"sync": ("step",)}),
        (0, False, (), {}),
        (2, True, (), {}),
        (2, False, (), {}),
        (2, False, ("sync",), {"sync": ()}),
    ],
)
def test_a_function_that_gave_what_it_was_given(
    tmp_path: Path, calls: int, by_hand: bool, copying: tuple[str, ...], found: dict[str, Any]
) -> None:
    assert takers(compared(tmp_path, same(3), same(calls), by_hand=by_hand), copying) == found


def counted(evaluates: bool) -> Write:
    """A program that counts from zeros in every step, and whose evaluation gives zeros, too."""

    def write(log: Log) -> None:
        for number in range(3):
            log.call("step", "zeros", f"q{number}")
            if evaluates or number != 1:
                log.call("eval", f"q{number}", "zeros")

    return write


def test_what_is_given_in_every_step_does_not_stand_for_a_result(tmp_path: Path) -> None:
    assert takers(compared(tmp_path, counted(True), counted(False))) == {}


def test_what_a_call_returned_is_not_taken_before_it(tmp_path: Path) -> None:
    def write(log: Log, last: bool = True) -> None:
        log.call("step", "a", "b")
        if last:
            log.call("made", "c", "a")

    assert takers(compared(tmp_path, write, lambda log: write(log, last=False))) == {}
