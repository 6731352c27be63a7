"""Exchanges with neighbours (JM124): of opposite names with one permutation, and one of several the other way round."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

ON, BACK = "[(i, (i + 1) % n) for i in range(n)]", "[(i, (i - 1) % n) for i in range(n)]"
START = "from jax import lax\n\n\n"


def lines(text: str) -> list[int]:
    found = lint([decode((START + text).encode(), "a.py", Path("/project/a.py"))], Config())
    return [one.line - START.count("\n") for one in found if one.code == "JM124"]


HALOS = """\
def halos(x, n, axis):
    {first} = lax.ppermute(x, axis, {one})
    {second} = lax.ppermute(x, axis, perm={other})
    return {first}, {second}
"""


@pytest.mark.parametrize(
    ("first", "second", "one", "other", "expected"),
    [
        ("from_left", "from_right", ON, ON, [3]),
        ("from_left", "from_right", BACK, BACK, [2]),
        ("from_left", "from_right", ON, BACK, []),
        ("fwd", "bwd", ON, ON, [3]),
        ("fwd", "bwd", ON, "[(j, (j + 1) % n) for j in range(n)]", [3]),
        ("fwd", "bwd", ON, "[(j, (n + j - 1) % n) for j in range(n)]", []),
        ("lhs_next", "lhs_prev", BACK, BACK, [2]),
        ("send_upper", "send_lower", ON, ON, [3]),
        ("upper", "lower", ON, ON, []),  # two halves of a matrix, perhaps
        ("first", "second", ON, ON, []),
        ("left_key", "right_value", ON, ON, []),
    ],
)
def test_opposite_names(first: str, second: str, one: str, other: str, expected: list[int]) -> None:
    assert lines(HALOS.format(first=first, second=second, one=one, other=other)) == expected


RING = """\
def turn(carry, n, axis):
    k, v, block = carry
    k = lax.ppermute(k, axis, {0})
    v = lax.ppermute(v, axis, {1})
    block = lax.ppermute(block, axis, {2})
    return k, v, block
"""


@pytest.mark.parametrize(
    ("perms", "expected"),
    [((ON, ON, BACK), [5]), ((BACK, ON, BACK), [4]), ((ON, ON, ON), []), ((BACK, BACK, BACK), [])],
)
def test_one_of_several_goes_another_way(perms: tuple[str, ...], expected: list[int]) -> None:
    assert lines(RING.format(*perms)) == expected


def test_silence_where_names_say_directions() -> None:
    """A ring in both directions, with something that goes along with one of them."""
    assert lines(RING.replace("block", "k_back").format(ON, ON, BACK)) == []


def test_functions_of_opposite_names() -> None:
    text = """\
def permute_lower(x, axis, n):
    return lax.ppermute(x, axis, perm=[(i, i + 1) for i in range(n - 1)])


def permute_upper(x, axis, n):
    return lax.ppermute(x, axis, perm=[{} for i in range({})])
"""
    assert lines(text.format("(i, i + 1)", "n - 1")) == [6]
    assert lines(text.format("(i, i - 1)", "1, n")) == []


SEND = """\
def {}(x, axis, n):
    return lax.ppermute(x, axis, perm=[{} for i in range(n - 1)])
"""


@pytest.mark.parametrize(
    ("name", "pair", "expected"),
    [
        ("send_forward", "(i + 1, i)", [2]),
        ("send_forward", "(i, i + 1)", []),
        ("send_to_prev", "(i, i + 1)", [2]),
        ("send_to_prev", "(i + 1, i)", []),
        ("recv_forward", "(i + 1, i)", []),  # from the one in front, or on the way forward
        ("send", "(i + 1, i)", []),
    ],
)
def test_what_is_called_by_the_way_it_sends(name: str, pair: str, expected: list[int]) -> None:
    assert lines(SEND.format(name, pair)) == expected
