"""Finds maps inside maps."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from jaxmigrate.program.collectives import PMAP
from jaxmigrate.program.modules import Module
from jaxmigrate.program.passing import passed_by
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import walk
from jaxmigrate.program.sites import MappedSite, mapped_values
from jaxmigrate.program.values import Application, External, Function, Parameter, Partial, Value, Values

MOST_FUNCTIONS = 200
_REACHED: WeakKeyDictionary[Resolver, dict[Value, tuple[Value, ...]]] = WeakKeyDictionary()


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


def maps_reached(values: Values, resolver: Resolver) -> dict[Application, None]:
    """The maps that calling one of `values` comes to, as far as the calls can be followed; what they map is not."""
    pending, seen = list(values), set[Value]()
    found: dict[Application, None] = {}
    while pending and len(seen) < MOST_FUNCTIONS:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, Application) and is_map(value):
            found[value] = None
        else:
            pending.extend(reached(value, resolver))
    return found


def functions_reached(values: Values, resolver: Resolver) -> list[Function]:
    """The functions that calling one of `values` comes to, itself included, down to the maps on the way."""
    pending, seen = list(values), dict[Value, None]()
    while pending and len(seen) < MOST_FUNCTIONS:
        value = pending.pop()
        if value not in seen and not is_map(value):
            seen[value] = None
            pending.extend(reached(value, resolver))
    return [value for value in seen if isinstance(value, Function)]


def certain(site: MappedSite, resolver: Resolver) -> Values:
    """The one thing that is mapped, if there is one: `step = pmap(step)` binds a name to both, and is no nesting."""
    found = tuple(v for v in mapped_values(site, resolver) if not _made_by(v, site))
    return found if len(found) == 1 else ()


def maps_inside(site: MappedSite, resolver: Resolver) -> list[Application]:
    """The maps that what a site maps comes to."""
    return [m for m in maps_reached(certain(site, resolver), resolver) if not _made_by(m, site)]


def maps_given(site: MappedSite, resolver: Resolver) -> list[Application]:
    """The maps that callers hand to a function which maps its own parameter at a site."""
    pending = [v for v in mapped_values(site, resolver) if isinstance(v, Parameter)]
    seen: set[Parameter] = set()
    found: list[Application] = []
    while pending:
        parameter = pending.pop()
        if parameter not in seen:
            seen.add(parameter)
            for values in _given(parameter, resolver):
                pending += [v for v in values if isinstance(v, Parameter)]
                found += maps_reached(values, resolver) if len(values) == 1 else []
    return found


def _given(parameter: Parameter, resolver: Resolver) -> Iterator[Values]:
    """What the calls of a function in sight pass for a parameter."""
    name = _name_of(parameter)
    for module in resolver.project.program if name else ():
        for call in module.table.calls if name in module.text else ():
            function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)
            callee = resolver.value(call.func, module) if function == name else None
            if isinstance(callee, Function) and callee.node is parameter.function:
                passed = passed_by(call, callee.passed_names())
                if parameter.name in passed:
                    yield resolver.values(passed[parameter.name], module)


def _name_of(parameter: Parameter) -> str:
    """The name of the function that has a parameter; of a lambda, the one that it is assigned to."""
    if not isinstance(parameter.function, ast.Lambda):
        return parameter.function.name
    match parameter.module.table.parents.get(parameter.function):
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""


def _made_by(value: Value, site: MappedSite) -> bool:
    return isinstance(value, Application) and value.node is site.node


def is_map(value: Value) -> bool:
    """Whether a value is the result of pmap."""
    return isinstance(value, Application) and value.callee == External(PMAP)


def reached(value: Value, resolver: Resolver) -> tuple[Value, ...]:
    """The functions that calling `value` may call."""
    known = _REACHED.setdefault(resolver, {})
    if value not in known:
        known[value] = tuple(dict.fromkeys(_reached(value, resolver)))
    return known[value]


def _reached(value: Value, resolver: Resolver) -> Iterator[Value]:
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
    """What a body calls, and what it hands to something else that may call it, such as a scan."""
    for node in walk(tree):
        if isinstance(node, ast.Call):
            for expression in (node.func, *node.args, *(keyword.value for keyword in node.keywords)):
                values = resolver.values(expression, module)
                yield from (v for v in values if isinstance(v, Application | Function | Partial))
