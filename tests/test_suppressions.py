"""Comments that ask for silence are obeyed where they are comments, and only for what they name."""

from __future__ import annotations

import pytest

from jaxmigrate.findings import Finding
from jaxmigrate.findings.suppressions import Mark, Unused, marks, silence


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
    assert marks(f"x = 1\ny = 2  {comment}\n") == (Mark(2, codes),)


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
    assert marks(line) == ()


def test_line_numbers_are_the_parsers() -> None:
    assert marks("a = 1\x0c\rb = '\u2028'\r\nc = 3  # jaxmigrate: ignore\r") == (Mark(3, ("",)),)


def test_comments_before_a_broken_end_count() -> None:
    assert marks("a = 1  # jaxmigrate: ignore\nb = '''\n") == (Mark(1, ("",)),)


def test_findings_are_dropped_by_first_and_last_line() -> None:
    text = "f(  # jaxmigrate: ignore[JM1]\n    x,\n)  # jaxmigrate: ignore[JM301]\n"
    marked = {"a.py": marks(text)}

    def finding(code: str, line: int = 1, end_line: int = 3, path: str = "a.py") -> Finding:
        return Finding(path, line, 1, code, "message", end_line, 2)

    kept = [finding("JM201"), finding("JM101", 2, 2), finding("JM101", path="b.py")]
    dropped = [finding("JM101"), finding("JM102", end_line=0), finding("JM301"), finding("JM301", 2)]
    assert silence([*kept, *dropped], marked).findings == kept


def test_comments_that_silence_nothing_are_told() -> None:
    marked = {"a.py": marks("f(1)  # jaxmigrate: ignore[JM101, JM3]\ng(2)  # jaxmigrate: ignore\n")}
    found = [Finding("a.py", 1, 1, "JM101", "message", 1, 2)]
    assert silence(found, marked).unused == [Unused("a.py", 0, 1, "JM3"), Unused("a.py", 0, 2, "")]
    assert silence([*found, Finding("a.py", 2, 1, "JM201", "message")], marked).unused == [Unused("a.py", 0, 1, "JM3")]
