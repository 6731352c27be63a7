"""Comments that ask for silence are obeyed where they are comments, and only for what they name."""

from __future__ import annotations

import pytest

from jaxmigrate.findings import Finding
from jaxmigrate.sources import decode
from jaxmigrate.suppressions import suppressed_lines, unsuppressed


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("# jaxmigrate: ignore", ("",)),
        ("#jaxmigrate:ignore", ("",)),
        ("# jaxmigrate: ignore because the mesh is built later", ("",)),
        ("# noqa  # jaxmigrate: ignore[JM101]", ("JM101",)),
        ("# jaxmigrate: ignore[JM101, JM2]", ("JM101", "JM2")),
        ("# jaxmigrate: ignore [JM101]", ("JM101",)),
        ("# jaxmigrate: ignore[]", ()),
    ],
)
def test_comments(comment: str, codes: tuple[str, ...]) -> None:
    assert suppressed_lines(f"x = 1\ny = 2  {comment}\n") == {2: codes}


@pytest.mark.parametrize(
    "line",
    [
        "x = '# jaxmigrate: ignore'",
        "'''\n# jaxmigrate: ignore\n'''",
        "x = 1  # jaxmigrate: ignored",
        "x = 1  # jaxmigrate: ignore-file",
        "x = 1  # jaxmigrate: ignore[JM101",
        "x = 1  # jaxmigrate: rule",
    ],
)
def test_what_is_no_such_comment(line: str) -> None:
    assert suppressed_lines(line) == {}


def test_line_numbers_are_the_parsers() -> None:
    assert suppressed_lines("a = 1\x0c\rb = '\u2028'\r\nc = 3  # jaxmigrate: ignore\r") == {3: ("",)}


def test_comments_before_a_broken_end_count() -> None:
    assert suppressed_lines("a = 1  # jaxmigrate: ignore\nb = '''\n") == {1: ("",)}


def test_findings_are_dropped_by_first_and_last_line() -> None:
    text = "f(  # jaxmigrate: ignore[JM1]\n    x,\n)  # jaxmigrate: ignore[JM301]\n"
    sources = {"a.py": decode(text.encode(), "a.py")}

    def finding(code: str, line: int = 1, end_line: int = 3, path: str = "a.py") -> Finding:
        return Finding(path, line, 1, code, "message", end_line, 2)

    kept = [finding("JM201"), finding("JM101", 2, 2), finding("JM101", path="b.py")]
    dropped = [finding("JM101"), finding("JM102", end_line=0), finding("JM301"), finding("JM301", 2)]
    assert unsuppressed([*kept, *dropped], sources) == kept
