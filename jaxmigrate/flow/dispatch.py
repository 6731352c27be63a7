"""Functions that a program keeps in a dictionary and calls by a key: which ones a call may mean."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.program.combined import distinct
from jaxmigrate.program.functions import own_statements
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, Function, Partial, Values

PROPERTIES = ("property", "cached_property")


def entries(callee: ast.expr, module: Module, resolver: Resolver) -> Values:
    """The functions in the dictionary that `callee`, `table[key]` or `table.get(key)`, looks into.

    Whether it holds others, or any of these when it is asked, is not known.
    """
    match callee:
        case ast.Subscript(value=table) | ast.Call(func=ast.Attribute(value=table, attr="get")):
            values = (
                v for one in _displays(table, module) for entry in one.values for v in resolver.values(entry, module)
            )
            return distinct(v for v in values if isinstance(v, Function | Partial | Application))
    return ()


def _displays(table: ast.expr, module: Module) -> Iterator[ast.Dict]:
    """The dictionaries that a name, an attribute or a property is made of in the module that looks into it."""
    found: list[ast.expr | None] = [table]
    match table:
        case ast.Name(id=name):
            holder = module.table.scope_of[table].lookup(name)
            found += [b.value for b in holder.bindings[name] if not b.path] if holder is not None else []
        case ast.Attribute(attr=name):
            found += [one.value for one in module.table.attributes if one.attr == name]
            functions = [n for n in module.table.own_scope if isinstance(n, ast.FunctionDef) and n.name == name]
            found += [
                s.value for n in functions if _is_property(n) for s in own_statements(n) if isinstance(s, ast.Return)
            ]
    return (one for one in found if isinstance(one, ast.Dict))


def _is_property(node: ast.FunctionDef) -> bool:
    names = (one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in node.decorator_list)
    return any(name in PROPERTIES for name in names)
