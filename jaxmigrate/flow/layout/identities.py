"""Maps that give back what they are given: `broadcast = jax.pmap(lambda x: x)` puts each slice on its device."""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout import device_lists
from jaxmigrate.flow.layout.functions import only_parameter, single_return
from jaxmigrate.program.library import named
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import is_docstring
from jaxmigrate.program.sites import MappedSite, mapped_values
from jaxmigrate.program.values import Application, Argument, Constant, External, Function, Value

PMAPS = named("pmap")


def gives_back(value: Value, resolver: Resolver) -> bool:
    """Whether a value is a map over all devices that gives back its only argument."""
    if not isinstance(value, Application) or not isinstance(value.callee, External) or value.callee.name not in PMAPS:
        return False
    mapped = [one for one in value.arguments if one.keyword is None][:1]
    found = resolver.argument_values(mapped[0]) if mapped else ()
    others = [one for one in value.arguments if one not in mapped]
    return len(found) == 1 and _is_identity(found[0]) and all(_is_usual(one, resolver) for one in others)


def site_gives_back(site: MappedSite, resolver: Resolver) -> bool:
    """The same of a mapped site."""
    found = mapped_values(site, resolver)
    return len(found) == 1 and _is_identity(found[0]) and all(_is_usual(one, resolver) for one in site.arguments)


def _is_identity(value: Value) -> bool:
    if not isinstance(value, Function) or value.receiver is not None:
        return False
    returned, name = single_return(value.node), only_parameter(value.node)
    return isinstance(returned, ast.Name) and returned.id == name and not value.node.args.defaults


def _is_usual(argument: Argument, resolver: Resolver) -> bool:
    """Whether an argument of pmap makes no difference to what gives back what it is given."""
    found = resolver.argument_values(argument)
    value = found[0] if len(found) == 1 else None
    match argument.keyword:
        case None | "axis_name":
            return isinstance(value, Constant) and isinstance(value.value, str)
        case "devices":
            return value is not None and device_lists.is_all(value, resolver)
    return False


def given_back(function: Function, resolver: Resolver) -> ast.expr | None:
    """The expression that a function returns, where that is all that it does, but for a map that gives it back.

    `stacked = tree_map(stack, x); return broadcast(stacked)` returns the stack; None that is passed may be let through.
    """
    returned = single_return(function.node)
    if returned is None and isinstance(function.node, ast.FunctionDef):
        returned = _behind_a_name(function.node)
    if isinstance(returned, ast.Call) and len(returned.args) == 1 and not returned.keywords:
        values = resolver.values(returned.func, function.module)
        if len(values) == 1 and gives_back(values[0], resolver):
            inner = returned.args[0]
            if not isinstance(inner, ast.Name):
                return inner
            return _last_assigned(function.node, inner.id) if isinstance(function.node, ast.FunctionDef) else None
    return returned if returned is single_return(function.node) else None


def _behind_a_name(node: ast.FunctionDef) -> ast.expr | None:
    """What a function returns that does no more than to name a number and an array on the way."""
    body = node.body[1:] if is_docstring(node.body[0]) else node.body
    body = body[1:] if body and _lets_none_through(body[0], only_parameter(node)) else body
    if node.decorator_list or not body or not isinstance(body[-1], ast.Return):
        return None
    names = [s.targets[0].id for s in body[:-1] if _names_one(s)]  # type: ignore[attr-defined]
    apart = len(names) == len(body) - 1 == len({*names}) and only_parameter(node) not in names
    return body[-1].value if apart else None


def _names_one(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and isinstance(statement.targets[0], ast.Name)
        and isinstance(statement.value, ast.Call)
    )


def _lets_none_through(statement: ast.stmt, name: str | None) -> bool:
    """`if x is None: return None`, which a tree without leaves comes to as well."""
    match statement:
        case ast.If(
            test=ast.Compare(left=ast.Name(id=tested), ops=[ast.Is()], comparators=[ast.Constant(value=None)]),
            body=[ast.Return(value=None | ast.Constant(value=None))],
            orelse=[],
        ):
            return tested == name
    return False


def _last_assigned(node: ast.FunctionDef, name: str) -> ast.expr | None:
    """What the statement before the last gives a name, where no other names it and only the last reads it."""
    *before, last = node.body
    made = before[-1] if before else None
    uses = [n for s in node.body for n in ast.walk(s) if isinstance(n, ast.Name) and n.id == name]
    if isinstance(made, ast.Assign) and _names_one(made) and len(uses) == 2 and isinstance(last, ast.Return):
        return made.value if isinstance(made.targets[0], ast.Name) and made.targets[0].id == name else None
    return None
