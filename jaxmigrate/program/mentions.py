"""What a function may reach, by the names that it mentions: more than it calls, and nothing that has no name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from jaxmigrate.program.modules import Module


def defined(modules: Iterable[Module]) -> dict[str, set[str]]:
    """By name, what the definitions and assignments of it mention in some modules."""
    found: dict[str, set[str]] = {}
    for module in modules:
        for node in module.nodes:
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    found.setdefault(name, set()).update(mentioned(node))
                case ast.Assign(targets=targets, value=value):
                    for name in (one for target in targets for one in mentioned(target)):
                        found.setdefault(name, set()).update(mentioned(value))
                case ast.alias(name=name, asname=str(other)):
                    found.setdefault(other, set()).add(name.rpartition(".")[2])
    return found


def mentioned(node: ast.AST) -> Iterator[str]:
    """The names in a piece of code, and those of attributes."""
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.Attribute):
            yield one.attr


def reached(names: Iterable[str], definitions: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """Names with those that their definitions mention, and so on."""
    waiting, found = [*names], set[str]()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += definitions.get(name, ())
    return frozenset(found)
