"""Arguments go to the parameters to which Python gives them: asked of Python itself."""

from __future__ import annotations

import ast
from typing import Any, cast

import pytest

from jaxmigrate.program.passing import passed, passed_by, passed_perhaps, taker
from jaxmigrate.program.scopes import defaults_of

SIGNATURES = [
    "a, b, c=3",
    "a, /, b, *, c=3",
    "a, *args, c=3",
    "a, b=2, **kwargs",
    "a, b=2, /, **kwargs",
    "*args, a=1, **kwargs",
    "*, a, b=2",
    "",
]
CALLS = ["1", "1, 2", "1, 2, 3", "1, b=2", "1, c=5", "a=1", "a=1, b=2", "1, 2, d=4", "1, b=2, a=3", ""]


def parts(signature: str, call: str) -> tuple[ast.arguments, list[int], dict[str, int]]:
    function = ast.parse(f"lambda {signature}: 0", mode="eval").body
    node = ast.parse(f"f({call})", mode="eval").body
    assert isinstance(function, ast.Lambda)
    assert isinstance(node, ast.Call)
    given = [ast.literal_eval(one) for one in node.args]
    return function.args, given, {k.arg or "": ast.literal_eval(k.value) for k in node.keywords}


def taken(signature: str, call: str) -> dict[str, Any] | None:
    """What Python binds in a call of a function; None where it raises."""
    try:
        return cast("dict[str, Any]", eval(f"(lambda {signature}: locals())({call})"))
    except TypeError:
        return None


@pytest.mark.parametrize(
    ("signature", "call"), [(one, call) for one in SIGNATURES for call in CALLS if taken(one, call) is not None]
)
def test_as_python_binds(signature: str, call: str) -> None:
    spec, given, named = parts(signature, call)
    found = passed(spec, given, named)
    arguments = taken(signature, call)
    assert arguments is not None
    assert found.extra == list(arguments.pop("args", ()))
    assert found.others == arguments.pop("kwargs", {})
    defaults = dict(defaults_of(spec))
    assert found.known == {k: v for k, v in arguments.items() if k in found.known}
    assert {k: ast.literal_eval(defaults[k]) for k in arguments if k not in found.known} == {
        k: v for k, v in arguments.items() if k not in found.known
    }


def test_what_is_bound_already() -> None:
    spec, given, named = parts("self, a, b=2", "1, b=3")
    assert passed(spec, given, named, skip=1).known == {"a": 1, "b": 3}
    assert taker(spec, 0, skip=1) == "a"
    assert taker(spec, "self", skip=1) is None


def test_who_takes_an_argument() -> None:
    spec, _, _ = parts("a, /, b, *args, c=3", "")
    assert [taker(spec, place) for place in (0, 1, 2, "a", "b", "c", "d")] == ["a", "b", None, None, "b", "c", None]


def test_a_star_hides_what_follows() -> None:
    call = ast.parse("f(x, *rest, y, c=z)", mode="eval").body
    assert isinstance(call, ast.Call)
    found = {name: ast.unparse(one) for name, one in passed_by(call, ["a", "b", "c", "d"]).items()}
    assert found == {"a": "x", "b": "*rest", "c": "z", "d": "*rest"}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("f(x, y, z)", ["y"]),
        ("f(x, b=y)", ["y"]),
        ("f(x)", []),
        ("f(x, **more)", ["more"]),
        ("f(*one, y)", ["one", "y"]),
        ("f(x, *rest, z)", ["rest", "z"]),
        ("f(x, y, *rest)", ["y"]),
    ],
)
def test_what_may_be_passed(call: str, expected: list[str]) -> None:
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    assert [ast.unparse(one) for one in passed_perhaps(node, "b", 1)] == expected
    bound = ast.Call(node.func, [ast.Name("g"), *node.args], node.keywords)
    assert [ast.unparse(one) for one in passed_perhaps(bound, "b", 1, skip=1)] == expected
