"""Assumptions that differ in one name alone are told once, with all their lines."""

from __future__ import annotations

from pathlib import Path

from jaxmigrate.migrate.plan import Assumed
from jaxmigrate.reports.alike import told


def batch(name: str, line: int, path: str = "train.py") -> Assumed:
    return Assumed("likely", "splits", name, f"`{name}` holds a batch split over all devices", Path(path), line)


def test_three_that_are_alike_are_told_at_once() -> None:
    every = [batch("batch.src", 12), batch("batch.dst", 13), batch("batch.labels", 14), batch("batch.src", 40)]
    says = "assumed: `batch.src` holds a batch split over all devices; the same of `batch.dst` and 1 more"
    assert [*told(every)] == [f"{says} (train.py:12-14, 40)"]


def test_two_others_and_those_of_another_file_are_told_by_themselves() -> None:
    base = "the base class `lib.Module` does not read the attributes of `{}` objects"
    bases = [Assumed("likely", "readers", "lib.Module", base.format(name), Path("net.py"), 0) for name in "AB"]
    every = [batch("x", 1), batch("y", 2), batch("z", 3, "other.py"), *bases]
    assert [*told(every)] == [str(one) for one in every]


def test_what_differs_in_two_names_is_told_one_by_one() -> None:
    every = [Assumed("likely", "x", "", f"`{a}` is like `{b}`", Path("a.py"), 1) for a, b in ("ab", "cd", "ef")]
    assert [*told(every)] == [str(one) for one in every]
    same = [Assumed("likely", "x", "", "`a` is like `b`", Path("a.py"), line) for line in (3, 5, 6)]
    assert [*told(same)] == ["assumed: `a` is like `b` (a.py:3, 5-6)"]
    nameless = [Assumed("likely", "x", "", "only people read a text", Path("a.py"), line) for line in (3, 4, 9)]
    assert [*told(nameless)] == ["assumed: only people read a text (a.py:3-4, 9)"]
