"""Functions, classes and aliases by name: what each mentions, and where it tells devices apart."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import Scope
from jaxmigrate.program.syntax import last_name
from jaxmigrate.records import made, record

CONSTRUCTOR = "__init__"


@record(eq=False, frozen=False)
class Unit:
    """A function, class or alias: what it mentions, and where it tells devices apart."""

    name: str
    module: Module
    node: ast.AST
    mentions: set[str] = made(factory=set)
    introducing: list[tuple[ast.expr, Module]] = made(factory=list)
    reducing: bool = False
    is_implicit: bool = False  # it runs without being called: a property, an operator
    keeps: bool = False  # that, and it stores what it is given somewhere else
    is_host: bool = False  # it uses what only the host can, whatever else it mentions
    is_told: bool = False  # it may be a function of JAX's that tells devices apart, under whatever name


@record(eq=False)
class Mention:
    """A name used in an expression, in a unit."""

    name: str
    node: ast.expr
    module: Module
    owner: Unit


def on_devices(units: Iterable[Unit], beside: frozenset[Module]) -> list[Unit]:
    """Those of some units that may run on devices, in the modules of a process."""
    return [unit for unit in units if unit.module in beside and not unit.is_host]


def constructor_of(cls: str) -> str:
    """What the constructor of a class goes by, beside the name that it has in common with all others."""
    return f"{cls}.{CONSTRUCTOR}"


def lambdas_of(scope: Scope | None) -> Iterator[ast.Lambda]:
    """The lambda that a scope is of, or a comprehension in it, and the lambdas that it stands in."""
    while scope is not None and (scope.kind == "comprehension" or isinstance(scope.node, ast.Lambda)):
        if isinstance(scope.node, ast.Lambda):
            yield scope.node
        scope = scope.parent


def last(node: ast.expr) -> str:
    """The last part of a dotted name; of a call, that of what is called."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return last_name(node)
