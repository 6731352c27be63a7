"""Functions with collectives that no map in sight leads to, each read as if one mapped it over the axis that it names.

A library leaves the map to its users, and a step may reach its map by ways that are not followed: through a registry, a
transformation of a library, an object's field. What is wrong with it whatever it is given is wrong there, too.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from jaxmigrate.flow.axis_symbols import spelled, symbol
from jaxmigrate.flow.axis_values import axis_names
from jaxmigrate.flow.mapped_calls import JITS
from jaxmigrate.flow.readings import DeviceMap, own_class
from jaxmigrate.flow.variance import MAY, AbstractValue, Mode, Reading, read
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import PMAP, axis_given
from jaxmigrate.program.modules import Module
from jaxmigrate.program.passing import passed
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import defaults_of
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import (
    Application,
    Argument,
    Constant,
    External,
    Function,
    Instance,
    Parameter,
    Partial,
)
from jaxmigrate.records import replace

CALLERS = 2  # functions above one with a collective, one calling the other
MOST_AXES = 2  # that one function names
Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Place: TypeAlias = tuple[Module, Definition]
Axes: TypeAlias = dict[Place, frozenset[str]]


def unmapped_readings(
    modules: Sequence[Module], names: Collection[str], known: Mapping[ast.AST, Collection[str]], resolver: Resolver
) -> Iterator[tuple[DeviceMap, Reading]]:
    """The readings of the functions around collectives of some names, but for those that are known over their axes."""
    inner = _around_collectives(modules, names, known, resolver)
    entered: set[ast.AST] = set()
    for (module, node), axes in {**_callers(inner, modules, resolver), **inner}.items():
        if node in entered or _is_compiled(node, module, resolver):
            continue
        for axis in sorted(axes)[:MOST_AXES]:
            found = _as_mapped(node, axis, module)
            reading = read_unmapped(found, resolver, trusting=True)
            entered |= reading.entered
            yield found, reading


def axes_in(module: Module, names: Collection[str], resolver: Resolver) -> frozenset[str]:
    """The axes that the collectives of a module name."""
    found = _around_collectives([module], names, {}, resolver)
    return frozenset().union(*found.values())


def _around_collectives(
    modules: Sequence[Module], names: Collection[str], known: Mapping[ast.AST, Collection[str]], resolver: Resolver
) -> Axes:
    """The functions that collectives stand in, the outermost first, with the axes that these name."""
    lasts = {name.rpartition(".")[2] for name in names}
    found: dict[Place, set[str]] = defaultdict(set)
    for module in modules:
        if not any(last in module.text for last in lasts):
            continue
        called = lasts | _bound_to_partials(module, lasts)
        for call in module.table.calls:
            if last_name(call.func) not in called:
                continue
            functions = _around(call, module)
            axes = _axes_of(call, module, names, resolver) if functions else frozenset()
            axes -= frozenset(axis for one in functions for axis in known.get(one, ()))
            for function in functions if axes else ():
                found[module, function] |= axes
    return {place: frozenset(axes) for place, axes in found.items()}


def _bound_to_partials(module: Module, lasts: Collection[str]) -> set[str]:
    """The names that may hold `partial(pmean, axis_name=...)`: assigned that, or something with such a name in it."""
    if "partial" not in module.text:
        return set()
    found: set[str] = set()
    for call in module.table.calls:
        if last_name(call.func) == "partial" and call.args and last_name(call.args[0]) in lasts:
            statement = module.table.statement_of(call)
            if isinstance(statement, ast.Assign):
                found |= {last_name(one) for one in statement.targets if isinstance(one, ast.Name | ast.Attribute)}
    uses = [use for name in found for use in module.table.named.get(name, ())]
    for statement in map(module.table.statement_of, uses):
        if isinstance(statement, ast.Assign) and not isinstance(statement.value, ast.Call):
            found |= {last_name(one) for one in statement.targets if isinstance(one, ast.Name | ast.Attribute)}
    return found


def _axes_of(call: ast.Call, module: Module, names: Collection[str], resolver: Resolver) -> frozenset[str]:
    """The axes that a collective is over, symbols for those that are not in sight; none for another call."""
    for value in resolver.values(call.func, module):
        given = tuple(call_arguments(call, module))
        if isinstance(value, Partial):
            given = (*value.arguments, *given)
            value = value.callee
        if isinstance(value, External) and value.name in names:
            axis = axis_given(value.name, given)
            return _axes(axis, resolver) if axis is not None else frozenset()
    return frozenset()


def _axes(given: Argument, resolver: Resolver) -> frozenset[str]:
    value = resolver.value(given.expression, given.module) if given.expression is not None else None
    if isinstance(value, Parameter):
        default = dict(defaults_of(value.function.args)).get(value.name)
        if isinstance(default, ast.Constant) and isinstance(default.value, str):
            return frozenset([default.value])
    names = axis_names(given.expression, given.module, resolver, {}, symbols=True)
    if names:
        return frozenset(names)
    return frozenset([spelled(given.expression)]) - {""}


def _around(node: ast.AST | None, module: Module) -> list[Definition]:
    """The functions that something stands in, the outermost first."""
    found: list[Definition] = []
    while node is not None:
        node = module.table.parents.get(node)
        if isinstance(node, Definition):
            found.insert(0, node)
    return found


def _callers(inner: Axes, modules: Sequence[Module], resolver: Resolver) -> Axes:
    """The functions that call some others, the furthest first, with the axes that they pass these."""
    found: Axes = {}
    below: Mapping[Place, frozenset[str]] = inner
    for _ in range(CALLERS):
        names = {node.name for _, node in below}
        axes = {node: each for (_, node), each in below.items()}
        above: dict[Place, set[str]] = defaultdict(set)
        for module in modules:
            for call in module.table.calls:
                if last_name(call.func) not in names:
                    continue
                function = next(iter(_around(call, module)[-1:]), None)
                if function is None or (module, function) in inner or (module, function) in found:
                    continue
                for value in resolver.values(call.func, module):
                    if isinstance(value, Function) and isinstance(value.node, Definition) and value.node in axes:
                        above[module, function] |= _passed(value, axes[value.node], call, module, resolver)
        below = {place: frozenset(each) for place, each in above.items() if each}
        found = {**below, **found}
    return found


def _passed(
    function: Function, axes: Iterable[str], call: ast.Call, module: Module, resolver: Resolver
) -> frozenset[str]:
    """The axes of a function as one that calls it knows them."""
    arguments = call_arguments(call, module)
    given = [one for one in arguments if one.keyword is None]
    named = {one.keyword: one for one in arguments if one.keyword is not None}
    if "*" in named or "**" in named:
        return frozenset()
    known = passed(function.node.args, given, named, int(function.receiver is not None)).known
    by_symbol = {symbol(name): argument for name, argument in known.items()}
    parts = [_axes(by_symbol[axis], resolver) if axis in by_symbol else frozenset([axis]) for axis in axes]
    return frozenset().union(*parts)


def _is_compiled(node: Definition, module: Module, resolver: Resolver) -> bool:
    """Whether a function is for one device: under a plain `jit` no axis is bound."""
    made = resolver.decorated(node, module) if node.decorator_list else None
    return isinstance(made, Application) and isinstance(made.callee, External) and made.callee.name in JITS


def _as_mapped(node: Definition, axis: str, module: Module) -> DeviceMap:
    """A function as a map over an axis has it."""
    owner = own_class(node, module)
    function = Function(module, node, Instance(owner) if owner is not None else None)
    made = Application(External(PMAP), (), ast.Name(node.name, ast.Load(), lineno=node.lineno, col_offset=0), module)
    return DeviceMap(PMAP, made, function, frozenset([axis]), function)


def read_unmapped(found: DeviceMap, resolver: Resolver, *, trusting: bool) -> Reading:
    """Reads a function as if it were mapped over the one axis of its map."""
    (axis,) = found.axes or ("",)
    given: dict[str, AbstractValue] = {}
    defaults = dict(defaults_of(found.function.node.args))
    for name in found.parameters():
        value = MAY  # also what has the name of data: this may be code that does not divide it
        default = resolver.value(defaults[name], found.function.module) if name in defaults else None
        if isinstance(default, Constant) and isinstance(default.value, str):
            continue
        if symbol(name) == axis:
            value = replace(value, static=Parameter(found.function.module, found.function.node, name))
        given[name] = value
    return read(
        found.function, [], found.axes or frozenset(), resolver, given, Mode(trusting, lenient=True, unmapped=True)
    )
