"""Finds maps inside maps."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import PMAP, MappedSite, mapped_values
from jaxmigrate.program.values import Application, External, Function, Partial, Value, Values

MOST_FUNCTIONS = 200


@dataclass(frozen=True, slots=True, eq=False)
class InPlace:
    """`pmap(pmap(f, axis_name="j"), axis_name="i")`, which one map over two axes replaces.

    `call` is the inner map, `function` what it maps, and the axes are the expressions that name them.
    """

    call: ast.Call
    function: ast.expr
    outer_axis: ast.expr
    inner_axis: ast.expr


def in_place(site: MappedSite) -> InPlace | None:
    """The inner map of a site that maps a map where it stands, if neither asks for more than axis names."""
    call = site.mapped.expression if site.mapped is not None else None
    if not isinstance(call, ast.Call) or not isinstance(site.node, ast.Call) or len(call.args) not in (1, 2):
        return None
    inner_axis = _only_axis(call, {"axis_name"})
    outer_axis = _only_axis(site.node, {"axis_name", "donate_argnums"})
    if inner_axis is None or outer_axis is None or isinstance(call.args[0], ast.Starred):
        return None
    if "#" in call_frame(site, call):
        return None  # a comment between the two maps would be lost
    return InPlace(call, call.args[0], outer_axis, inner_axis)


def call_frame(site: MappedSite, call: ast.Call) -> str:
    """What a call says around the function that it maps."""
    segment, function = site.module.segment(call), site.module.segment(call.args[0])
    return segment.replace(function, "", 1)


def _only_axis(call: ast.Call, allowed: set[str]) -> ast.expr | None:
    """The axis that a call of pmap names, if it has one and no keywords but those allowed."""
    if any(keyword.arg not in allowed for keyword in call.keywords):
        return None
    named = [keyword.value for keyword in call.keywords if keyword.arg == "axis_name"]
    return next(iter([*named, *call.args[1:2]]), None)


def inner_map(site: MappedSite, resolver: Resolver) -> str | None:
    """Where the function that a site maps calls pmap itself, as `file:line`; None where no such call is in sight."""
    pending: list[Value] = _certain(mapped_values(site, resolver), site)
    seen: set[Value] = set()
    while pending and len(seen) < MOST_FUNCTIONS:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if is_map(value):
            assert isinstance(value, Application)
            return f"{value.module.path.name}:{value.node.lineno}"
        pending.extend(v for v in _reached(value, resolver) if not _made_by(v, site))
    return None


def _certain(values: Values, site: MappedSite) -> list[Value]:
    """The one thing that is called, if there is one: `step = pmap(step)` binds a name to both, and is no nesting."""
    found = [v for v in values if not _made_by(v, site)]
    return found if len(found) == 1 else []


def _made_by(value: Value, site: MappedSite) -> bool:
    return isinstance(value, Application) and value.node is site.node


def is_map(value: Value) -> bool:
    """Whether a value is the result of pmap."""
    return isinstance(value, Application) and value.callee == External(PMAP)


def _reached(value: Value, resolver: Resolver) -> Iterator[Value]:
    """The functions that calling `value` may call."""
    match value:
        case Application(callee=callee, arguments=arguments):
            if isinstance(callee, Function):
                returned = resolver.returned(callee)
                yield from returned if len(returned) == 1 else ()
            for argument in arguments:
                values = resolver.argument_values(argument)
                if len(values) == 1 and isinstance(values[0], Application | Function | Partial):
                    yield values[0]
        case Partial(callee=callee):
            yield callee
        case Function(module=module, node=node):
            body = [node.body] if isinstance(node, ast.Lambda) else node.body
            for statement in body:
                yield from _called(statement, module, resolver)


def _called(tree: ast.AST, module: Module, resolver: Resolver) -> Iterator[Value]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from (
                v for v in resolver.values(node.func, module) if isinstance(v, Application | Function | Partial)
            )
