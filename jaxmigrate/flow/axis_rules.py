"""Tables that translate a program's own names of dimensions into axes of a mesh.

A record whose fields are looked up where a spec is made, `P(*(getattr(rules, name) for name in logical))`, or a
list of pairs such as flax takes, `rules = (("batch", "data"), ("embed", None))`. For lint alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.axis_values import mesh_axes
from jaxmigrate.flow.known_axes import all_run_on_meshes_of_project, known_axes, meshes_of
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import SPECS
from jaxmigrate.program.library import last_names
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Application, Class, External, Instance, Value

_SPECS = last_names("spec") | {"P", "PS"}
_NAMED = re.compile(r"rules$", re.IGNORECASE)
LOGICAL = re.compile(r"logical", re.IGNORECASE)


class Rule(NamedTuple):
    """What a table says of one name: the axes, and the expression that says so."""

    name: str
    node: ast.expr
    axes: tuple[str, ...]


class AxisTable(NamedTuple):
    """A table, with the expression that makes it; `kind` is the class of a record."""

    module: Module
    node: ast.expr
    rules: tuple[Rule, ...]
    kind: Value | None


@once
def axis_tables(resolver: Resolver) -> tuple[AxisTable, ...]:
    """All tables of a program that are written out."""
    program = resolver.project.program
    kinds = dict.fromkeys(kind for module in program for kind in _records(module, resolver))
    found = [table for module in program for kind in kinds for table in _made(kind, module, resolver)]
    if any(LOGICAL.search(module.text) for module in program):
        found += [table for module in program for table in _pairs(module)]
    return tuple(found)


def unknown_axes(resolver: Resolver) -> Iterator[tuple[AxisTable, Rule, str, frozenset[str]]]:
    """The axes in tables that the mesh has not with which they are given, or else no map and no mesh of the program."""
    known = known_axes(resolver)
    whole = known.complete and all_run_on_meshes_of_project(resolver)
    for table in axis_tables(resolver):
        own = _mesh_beside(table, resolver)
        had = own if own is not None else known.names if whole else None
        if (
            table.kind is None
            and had is not None
            and not any(axis in had for rule in table.rules for axis in rule.axes)
        ):
            continue  # pairs of other things, as of the old and new names of parameters
        for rule in table.rules if had is not None else ():
            yield from ((table, rule, axis, had or frozenset()) for axis in rule.axes if axis not in (had or ()))


def repeated_axes(resolver: Resolver) -> Iterator[tuple[AxisTable, Rule, str, Module, ast.expr]]:
    """Axes that a record gives to two of the names that some tuple lists for the dimensions of one array."""
    homes = {table.kind.module for table in axis_tables(resolver) if isinstance(table.kind, Class | Application)}
    for table in axis_tables(resolver):
        by_name = {rule.name: rule for rule in table.rules} if table.kind is not None else {}
        own = table.kind.module if isinstance(table.kind, Class | Application) else None
        told: set[frozenset[str]] = set()
        for module in resolver.project.program if by_name else ():
            if module in homes and module is not own:
                continue  # which means the names of its own record
            for node, names in _lists_of(frozenset(by_name), module):
                axes = [axis for name in names for axis in by_name[name].axes]
                again = next((axis for axis in axes if axes.count(axis) > 1), None)
                if again is None:
                    continue
                both = [name for name in names if again in by_name[name].axes]
                if frozenset(both) not in told:
                    told.add(frozenset(both))
                    last = max((by_name[name] for name in both), key=lambda rule: rule.node.lineno)
                    yield table, last, again, module, node


def _records(module: Module, resolver: Resolver) -> Iterator[Value]:
    """The classes of what is looked up by name where a PartitionSpec is made."""
    if "getattr(" not in module.text:
        return
    for call in (c for name in _SPECS for n in module.table.named.get(name, ()) if (c := module.table.parents.get(n))):
        starred = [one.value for one in call.args if isinstance(one, ast.Starred)] if isinstance(call, ast.Call) else []
        for one in starred:
            match one:
                case ast.GeneratorExp(elt=elt) | ast.ListComp(elt=elt):
                    match elt:
                        case ast.Call(func=ast.Name(id="getattr"), args=[ast.Name() as owner, _, *_]):
                            yield from _annotated(owner, call, module, resolver)


def _annotated(name: ast.Name, call: ast.AST, module: Module, resolver: Resolver) -> Iterator[Value]:
    """The class that a parameter is annotated with, in a function that makes a PartitionSpec."""
    callee = resolver.value(call.func, module) if isinstance(call, ast.Call) else None
    scope = module.table.scope_of[name]
    bindings = resolver.bindings(name.id, scope)
    node = bindings[0].node if len(bindings) == 1 else None
    if (
        isinstance(callee, External)
        and callee.name in SPECS
        and isinstance(node, ast.arg)
        and node.annotation is not None
    ):
        value = resolver.value(node.annotation, module)
        if isinstance(value, Class | Application):
            yield value


def _made(kind: Value, module: Module, resolver: Resolver) -> Iterator[AxisTable]:
    """The records of a class that a module makes by keywords."""
    name = kind.node.name if isinstance(kind, Class) else _name_of(kind)
    for node in module.table.named.get(name, ()) if name in module.text else ():
        call = module.table.parents.get(node)
        if not isinstance(call, ast.Call) or call.func is not node or resolver.value(node, module) != kind:
            continue
        if call.keywords and not call.args and all(one.arg for one in call.keywords):
            yield AxisTable(module, call, tuple(_rules((str(k.arg), k.value) for k in call.keywords)), kind)


def _name_of(kind: Value) -> str:
    """The name that a named tuple's class is assigned to."""
    module, node = (kind.module, kind.node) if isinstance(kind, Application) else (None, None)
    above = module.table.parents.get(node) if module is not None and node is not None else None
    target = above.targets[0] if isinstance(above, ast.Assign) else None
    return target.id if isinstance(target, ast.Name) else ""


def _pairs(module: Module) -> Iterator[AxisTable]:
    """The lists of pairs that are called rules."""
    for node, above in module.table.parents.items():
        if not isinstance(node, ast.Tuple | ast.List) or len(node.elts) < 2:
            continue
        match above:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.keyword(arg=str(name)):
                pass
            case ast.Assign(targets=[ast.Attribute(attr=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                pass
            case _:
                continue
        pairs = [_pair(one) for one in node.elts]
        if _NAMED.search(name) and all(pairs):
            yield AxisTable(module, node, tuple(_rules(pair for pair in pairs if pair is not None)), None)


def _pair(node: ast.expr) -> tuple[str, ast.expr] | None:
    match node:
        case (
            ast.Tuple(elts=[ast.Constant(value=str(name)), value])
            | ast.List(elts=[ast.Constant(value=str(name)), value])
        ) if _axes(value) is not None:
            return name, value
    return None


def _rules(entries: Iterator[tuple[str, ast.expr]]) -> Iterator[Rule]:
    for name, value in entries:
        axes = _axes(value)
        if axes is not None:
            yield Rule(name, value, axes)


def _axes(node: ast.expr) -> tuple[str, ...] | None:
    """The axes that are written for one name; None where something else is."""
    match node:
        case ast.Constant(value=None):
            return ()
        case ast.Constant(value=str(axis)):
            return (axis,)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            names = [one.value for one in elements if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            return tuple(names) if len(names) == len(elements) else None
    return None


def _mesh_beside(table: AxisTable, resolver: Resolver) -> frozenset[str] | None:
    """The axes of the meshes that calls are given beside a record; None where none is, or some are not known."""
    found: set[frozenset[str] | None] = set()
    for module in resolver.project.program if table.kind is not None else ():
        for call in _calls_with_mesh(module):
            arguments = call_arguments(call, module)
            given = [v for one in arguments for v in resolver.argument_values(one)]
            if any(_is_made_by(value, table.node) for value in given):
                mesh = next(one for one in arguments if one.keyword == "mesh")
                found.add(mesh_axes(mesh, resolver, {}))
    return found.pop() if len(found) == 1 else _meshes_in(table, resolver)


def _meshes_in(table: AxisTable, resolver: Resolver) -> frozenset[str] | None:
    """The axes of the meshes that the module of a record makes; None where it makes none, or some are not known."""
    made = [*meshes_of(table.module, resolver)] if table.kind is not None else []
    return None if not made or None in made else frozenset(axis for one in made for axis in one or ())


def _is_made_by(value: Value, node: ast.expr) -> bool:
    made = value.call if isinstance(value, Instance) else value
    return isinstance(made, Application) and made.node is node


def _calls_with_mesh(module: Module) -> Iterator[ast.Call]:
    """The calls that are given a mesh by keyword."""
    if "mesh=" in module.text:
        calls = (call for call in module.table.calls if any(one.arg == "mesh" for one in call.keywords))
        yield from (call for call in calls if len(call.keywords) + len(call.args) > 1)


def _lists_of(names: frozenset[str], module: Module) -> Iterator[tuple[ast.expr, list[str]]]:
    """The tuples, and the arguments of specs, of two or more unlike strings, each of which is one of some names."""
    for node in module.table.parents:
        match node:
            case ast.Tuple(elts=elements) if len(elements) > 1:
                pass
            case ast.Call(args=elements, keywords=[]) if len(elements) > 1 and last_name(node.func) in _SPECS:
                elements = [one for one in elements if not (isinstance(one, ast.Constant) and one.value is None)]
            case _:
                continue
        found = [one.value for one in elements if isinstance(one, ast.Constant) and one.value in names]
        if len(found) == len(elements) == len(set(found)) and len(found) > 1:
            yield node, [str(one) for one in found]
