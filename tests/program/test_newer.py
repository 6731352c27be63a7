"""Texts that only a later Python parses, and what is said of them."""

from __future__ import annotations

import ast
import sys

import pytest

from jaxmigrate.program.newer import described


def said(text: str) -> str:
    """What is said of a text that does not parse."""
    with pytest.raises(SyntaxError) as raised:
        ast.parse(text)
    return described(raised.value, text)


@pytest.mark.parametrize(
    ("text", "since"),
    [
        ("x = 1\ntype Shape = tuple[int, ...]", (3, 12)),
        ("class Box[T]:\n    pass", (3, 12)),
        ("async def f[T: int](x: T) -> T: ...", (3, 12)),
        ("x = f'{\"\\n\".join(y)}'", (3, 12)),
        ("try:\n    pass\nexcept OSError, ValueError:\n    pass", (3, 14)),
        ("x = t'{y}'", (3, 14)),
        ("lazy import jax", (3, 15)),
    ],
)
def test_the_release_is_named(text: str, since: tuple[int, int]) -> None:
    if sys.version_info < since:
        needed = ".".join(map(str, since))
        assert said(text).endswith(f"; this is syntax of Python {needed}, and jaxmigrate runs on {_own()}")


@pytest.mark.parametrize(
    "text",
    [
        "x = (1",
        "print 'x'",
        "type Shape = int\n" * (sys.version_info >= (3, 12)) + "x = = 1",  # what is wrong stands on another line
        "try:\n    pass\nexcept OSError, e:\n    print e",
        "x = f'{}'",
        "x = f'{a b}'",
    ],
)
def test_what_no_release_parses(text: str) -> None:
    with pytest.raises(SyntaxError) as raised:
        ast.parse(text)
    assert described(raised.value, text) == f"cannot be parsed: {raised.value.msg}"


def _own() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"
