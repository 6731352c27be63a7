"""Patterns match whole names, at any depth or from the project's folder."""

from __future__ import annotations

import pytest

from jaxmigrate.sources import matches


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("fixtures", "fixtures"),
        ("fixtures", "a/fixtures/b.py"),
        ("fixtures/", "fixtures/b.py"),
        ("*_pb2.py", "a/b/x_pb2.py"),
        ("rules/*/bad.py", "rules/axis/bad.py"),
        ("rules/**/bad.py", "rules/bad.py"),
        ("rules/**/bad.py", "rules/a/b/bad.py"),
        ("third_party/**", "third_party/a/b.py"),
        ("**/old", "a/b/old/c.py"),
        ("/top", "top/a.py"),
        ("a?.py", "ab.py"),
        ("[ab].py", "x/b.py"),
        ("[!ab].py", "c.py"),
        ("a.b", "a.b"),
        ("[", "["),
        ("a[", "a["),
    ],
)
def test_matches(pattern: str, path: str) -> None:
    assert matches(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("fixtures", "fixtures2/a.py"),
        ("fixtures", "my_fixtures"),
        ("rules/*/bad.py", "rules/a/b/bad.py"),
        ("rules/*/bad.py", "x/rules/a/bad.py"),
        ("/top", "a/top"),
        ("*.py", "a.pyc"),
        ("a?.py", "a/.py"),
        ("[!ab].py", "a.py"),
        ("a.b", "axb"),
    ],
)
def test_does_not_match(pattern: str, path: str) -> None:
    assert not matches(pattern, path)
