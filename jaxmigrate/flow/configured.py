"""Axis names that a program keeps in a configuration: `config.data_axis`, a field that has one default everywhere.

For lint alone: whoever makes the configuration may give another name, but then gives it to the mesh as well.
"""

from __future__ import annotations

import ast

from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver


def axis_of(node: ast.expr, resolver: Resolver) -> tuple[str, ...] | None:
    """The name that an attribute is by default, where all classes and calls of the program agree on it."""
    found = _default(node.attr, resolver) if isinstance(node, ast.Attribute) and resolver.defaults_hold else None
    return (found,) if found is not None else None


@once_each
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
