"""Axis names that a program keeps in a configuration: `config.data_axis`, a field that has one default everywhere.

For lint alone: whoever makes the configuration may give another name, but then gives it to the mesh as well.
"""

from __future__ import annotations

import ast

from jaxmigrate.program.resolve import Resolver

ASSUMED = "the defaults of a configuration are its values"
_KEY = "names of axes in configurations"


def assume(resolver: Resolver) -> None:
    """Takes the default of a field for its value from here on."""
    resolver.remembered[ASSUMED] = True


def axis_of(node: ast.expr, resolver: Resolver) -> tuple[str, ...] | None:
    """The name that an attribute is by default, where all classes and calls of the program agree on it."""
    if not isinstance(node, ast.Attribute) or ASSUMED not in resolver.remembered:
        return None
    known = resolver.remembered.setdefault(_KEY, {})
    if not isinstance(known, dict):
        return None
    if node.attr not in known:
        known[node.attr] = _default(node.attr, resolver)
    found = known[node.attr]
    return (found,) if isinstance(found, str) else None


def _default(field: str, resolver: Resolver) -> str | None:
    """The one text that a field has by default, or is given by keyword; None where there are several, or others."""
    found: set[object] = set()
    declared = False
    for module in resolver.project.program:
        if field not in module.text:
            continue
        for node in module.table.parents:
            match node:
                case ast.AnnAssign(target=ast.Name(id=name), value=value) if name == field and value is not None:
                    if isinstance(module.table.parents.get(node), ast.ClassDef):
                        declared = True
                        found.add(_text(value))
                case ast.keyword(arg=name, value=value) if name == field:
                    found |= set() if _hands_on(value, field) else {_text(value)}
                case ast.Assign(targets=[ast.Attribute(attr=name)], value=value) if name == field:
                    found |= set() if _hands_on(value, field) else {_text(value)}
    only = found.pop() if len(found) == 1 else None
    return only if declared and isinstance(only, str) else None


def _hands_on(value: ast.expr, field: str) -> bool:
    """Whether a field is given what another of its name has."""
    return (isinstance(value, ast.Attribute) and value.attr == field) or (
        isinstance(value, ast.Name) and value.id == field
    )


def _text(value: ast.expr) -> object:
    return value.value if isinstance(value, ast.Constant) else None
