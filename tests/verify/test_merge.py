"""Several commands, one verdict."""

from __future__ import annotations

from dataclasses import replace

from jaxmigrate.verify.merge import merge
from jaxmigrate.verify.model import Evidence, RunSummary, SiteEvidence, SiteInfo, Verdict
from tests.reports.evidence import green

A, B = SiteInfo("a", "x.py", 1), SiteInfo("b", "x.py", 2)


def site(info: SiteInfo, verdict: Verdict, calls: int = 0, message: str = "") -> SiteEvidence:
    return SiteEvidence(info, verdict, message, calls=calls)


def evidence(*sites: SiteEvidence, **changes: object) -> Evidence:
    return replace(green(), sites=sites, **changes)  # type: ignore[arg-type]


def test_one_command_is_left_as_it_is() -> None:
    only = evidence(site(A, Verdict.EQUAL, 3))
    assert merge({"": only}) is only


def test_together_they_reach_what_neither_does_alone() -> None:
    found = merge(
        {
            "train": evidence(site(A, Verdict.EQUAL, 3, "3 calls bitwise equal"), site(B, Verdict.NOT_EXERCISED)),
            "test": evidence(site(A, Verdict.NOT_EXERCISED), site(B, Verdict.WITHIN, 2, "2 calls equal")),
        }
    )
    assert found.verdict is Verdict.WITHIN
    assert [one.verdict for one in found.sites] == [Verdict.EQUAL, Verdict.WITHIN]
    assert (found.coverage.exercised, found.coverage.equal, found.coverage.within) == (2, 1, 1)
    assert found.message == "2 of 2 sites exercised by 2 commands, 5 calls compared: all equal within rounding"
    assert [run.name for run in found.runs] == ["train: original", "test: original"]
    assert [part.name for part in found.parts] == ["train", "test"]


def test_the_gravest_counts_and_is_named() -> None:
    found = merge(
        {
            "train": evidence(site(A, Verdict.EQUAL, 3)),
            "test": evidence(site(A, Verdict.DIFFERENT, 2, "call 0, result: not bitwise equal")),
        }
    )
    assert found.verdict is Verdict.DIFFERENT
    assert found.sites[0].message == "test: call 0, result: not bitwise equal"
    assert found.sites[0].calls == 5
    assert found.message == "x.py:1: test: call 0, result: not bitwise equal"


def test_a_command_that_fails_fails_the_whole() -> None:
    crashed = RunSummary("rewritten", 1, "exited", "the rewritten program exited with status 1", 1, "", 1.0, 0, 0, 8)
    found = merge(
        {
            "train": evidence(site(A, Verdict.EQUAL, 3)),
            "test": evidence(site(A, Verdict.EQUAL, 2), runs=(crashed,), verdict=Verdict.FAILED, message="it crashed"),
        }
    )
    assert found.verdict is Verdict.FAILED
    assert found.message == "test: it crashed"


def test_notes_say_whose_they_are() -> None:
    both = site(A, Verdict.EQUAL, 1)
    found = merge({"train": evidence(both, notes=("x", "y")), "test": evidence(both, notes=("x",))})
    assert found.notes == ("x", "train: y")


def test_not_every_site_without_calls_is_named_in_a_sentence() -> None:
    unseen = [SiteInfo(str(number), "x.py", number) for number in range(8)]
    found = merge({name: evidence(*(site(one, Verdict.NOT_EXERCISED) for one in unseen)) for name in ("a", "b")})
    assert found.message.endswith("not compared: x.py:0, x.py:1, x.py:2, x.py:3, x.py:4, and 3 more")
