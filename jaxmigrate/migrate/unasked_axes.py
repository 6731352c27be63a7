"""Maps whose axis nothing in them can ask for: no collective brings rows of other processes there.

A collective is told its axis, by a string that stands somewhere. Where all places of that string are the axes of maps,
or lie in functions that only other maps run, a map is as good over the devices of its own process. What is read from a
file, or given by a command line, may be any string.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from jaxmigrate.flow.variance import loaded_beside
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.collectives import AXIS_POSITIONS, PMAPS, VMAP, axis_argument
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.sites import MappedSite, axis_of, is_decorator, mapped_sites
from jaxmigrate.program.values import Constant, External, Parameter

GATHERS = "gather_from_model_output"  # over an axis that a library names
MAPS = PMAPS | {VMAP}
AXES = frozenset({"axis_name", "cross_replica_axis", "pmap_axis_name", "pmean_axis_name"})
Named = ast.FunctionDef | ast.AsyncFunctionDef


def is_unasked(site: MappedSite, resolver: Resolver) -> bool:
    """Whether nothing that a site maps can ask for its axis, as far as all files show that run with it."""
    axis = axis_of(site, resolver)
    if not isinstance(axis, Constant) or not isinstance(axis.value, str) or site.is_open:
        return False
    beside = loaded_beside(resolver, site.module)
    if any(GATHERS in module.text for module in beside):
        return False
    if not all(_says_axes(module, resolver) for module in beside):
        return False
    sites = _sites(site.module, resolver)
    others = [one for one in sites if one.node is not site.node]
    axes = {one for other in sites for one in _axis_nodes(other)}
    mapped = {inner for one in others for inner in _mapped_nodes(one)}
    apart = _run_apart(others, mapped, beside)
    return all(
        node in axes or node in mapped or any(one in apart for one in _around(node, module))
        for module in beside
        for node in module.nodes
        if _is_text(node, axis.value) and not _is_looked_up(node, module)
    )


@once_each
def _says_axes(module: Module, resolver: Resolver) -> bool:
    """Whether all axes that a module's collectives and layers are told are written in the program."""
    return all(
        _is_written(one, module, resolver) for call in module.table.calls for one in _told(call, module, resolver)
    )


def _told(call: ast.Call, module: Module, resolver: Resolver) -> Iterator[ast.expr]:
    """The axes that a call is told which is no map."""
    names = {one.name for one in resolver.values(call.func, module) if isinstance(one, External)}
    if not names.isdisjoint(MAPS):
        return
    yield from (one.value for one in call.keywords if one.arg in AXES)
    arguments = call_arguments(call, module)
    for name in names & AXIS_POSITIONS.keys():
        axis = axis_argument(name, arguments)
        if axis is not None:
            yield axis


def _is_written(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    values = [
        one
        for value in resolver.values(node, module)
        for one in (callers_of(resolver).passed(value) if isinstance(value, Parameter) else (value,))
    ]
    return all(isinstance(one, Constant) for one in values)


def _is_text(node: ast.AST, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text


def _is_looked_up(node: ast.AST, module: Module) -> bool:
    """Whether a string is only a key that something is looked up by, or what another one is compared with."""
    parent = module.table.parents.get(node)
    return isinstance(parent, ast.Compare) or (isinstance(parent, ast.Subscript) and parent.slice is node)


@once_each
def _sites(module: Module, resolver: Resolver) -> tuple[MappedSite, ...]:
    """The maps that may run with a module."""
    return tuple(one for other in loaded_beside(resolver, module) for one in mapped_sites(other, resolver))


def _axis_nodes(site: MappedSite) -> Iterator[ast.AST]:
    argument = site.keyword("axis_name")
    if argument is not None and argument.expression is not None:
        yield argument.expression


def _run_apart(
    others: Sequence[MappedSite], mapped: Collection[ast.AST], beside: Collection[Module]
) -> Collection[ast.AST]:
    """The functions that only other maps run: all that mentions them is one of these, or is mapped."""
    decorated = {one.module.table.parents.get(one.node) for one in others if is_decorator(one.node, one.module)}
    found: dict[str, list[ast.AST]] = {}
    for module in beside:
        for node in module.nodes:
            if isinstance(node, Named) and not node.name.startswith("__") and node not in decorated:
                found.setdefault(node.name, []).append(node)
    said = {one for module in beside for node in module.nodes for one in _other_names(node)}
    alone = {name: ones[0] for name, ones in found.items() if len(ones) == 1 and name not in said}
    mentions = {function: [*_mentions(name, beside)] for name, function in alone.items()}
    apart = {one for one in decorated if one is not None}
    while more := {
        function
        for function, places in mentions.items()
        if function not in apart
        and places
        and all(node in mapped or any(one in apart for one in _around(node, module)) for node, module in places)
    }:
        apart |= more
    return apart


def _other_names(node: ast.AST) -> Iterator[object]:
    """The names by which something may be reached that has another one: strings, and what an import renames."""
    if isinstance(node, ast.Constant):
        yield node.value
    elif isinstance(node, ast.alias) and node.asname is not None:
        yield node.name.rpartition(".")[2]


def _mapped_nodes(site: MappedSite) -> Iterator[ast.AST]:
    if site.mapped is not None and site.mapped.expression is not None:
        yield from ast.walk(site.mapped.expression)


def _mentions(name: str, beside: Collection[Module]) -> Iterator[tuple[ast.AST, Module]]:
    for module in beside:
        yield from ((node, module) for node in module.table.named.get(name, ()))


def _around(node: ast.AST, module: Module) -> Iterator[ast.AST]:
    """The functions around a node, from within."""
    parent = module.table.parents.get(node)
    while parent is not None:
        if isinstance(parent, FunctionNode):
            yield parent
        parent = module.table.parents.get(parent)
