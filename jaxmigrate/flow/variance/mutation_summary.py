"""Functions of the program that change what they are given, for calls that are not followed to one of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from jaxmigrate.flow.variance.library import MUTATORS

STARRED = "*"  # what a star of the parameters takes


class Changes(NamedTuple):
    """The parameters that a function changes itself, and those that it passes on with the names of what it calls.

    A parameter is its position, from 0 behind the object whose method it is, and its name.
    """

    own: frozenset[int | str]
    passed: tuple[tuple[frozenset[int | str], str], ...]


def changes_of(node: ast.AST) -> Changes:
    """What a function does to what it is given; storing in the object whose method it is does not count."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return Changes(frozenset(), ())
    inside, places = list(ast.walk(node)), _places(node.args)
    own = (places[name] for name in changed_names(inside) if name in places)
    passed = ((places[name], called) for name, called in _passed_on(inside) if name in places)
    return Changes(frozenset[int | str]().union(*own), tuple(dict.fromkeys(passed)))


def passed_on(functions: Sequence[Changes], known: Mapping[str, frozenset[int | str]]) -> frozenset[int | str]:
    """What functions of one name change, themselves or by what they call, of which this much is known."""
    found = frozenset[int | str]().union(*(one.own for one in functions))
    return found.union(*(places for one in functions for places, called in one.passed if known.get(called)))


def _places(arguments: ast.arguments) -> dict[str, frozenset[int | str]]:
    ordered = [parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args)]
    ordered = ordered[1:] if ordered[:1] in (["self"], ["cls"]) else ordered
    found: dict[str, frozenset[int | str]] = {name: frozenset((i, name)) for i, name in enumerate(ordered)}
    found |= {parameter.arg: frozenset((parameter.arg,)) for parameter in arguments.kwonlyargs}
    stars = [star.arg for star in (arguments.vararg, arguments.kwarg) if star is not None]
    return found | {name: frozenset((STARRED,)) for name in stars}


def changed_names(inside: Sequence[ast.AST]) -> Iterator[str]:
    """The names that targets and the receivers of changing methods begin with."""
    for one in inside:
        if isinstance(one, ast.Attribute | ast.Subscript) and isinstance(one.ctx, ast.Store | ast.Del):
            yield _first_name(one)
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr in MUTATORS:
            yield _first_name(one.func)


def _passed_on(inside: Sequence[ast.AST]) -> Iterator[tuple[str, str]]:
    for one in inside:
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name | ast.Attribute):
            called = one.func.id if isinstance(one.func, ast.Name) else one.func.attr
            for given in (*one.args, *(keyword.value for keyword in one.keywords)):
                yield _first_name(given), called


def _first_name(node: ast.AST) -> str:
    """The name that an expression begins with; none where it begins with something else."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
