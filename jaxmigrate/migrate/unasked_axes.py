"""Maps whose axis nothing in them can ask for: no collective brings rows of other processes there.

A collective is told its axis, by a string that stands somewhere. Where all places of that string are the axes of maps,
or lie in functions that only other maps run, a map is as good over the devices of its own process. What is read from a
file, or made up from other strings, may be any.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from jaxmigrate.flow.variance import loaded_beside
from jaxmigrate.migrate import told_axes
from jaxmigrate.migrate.told_axes import keeps_functions
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.sites import MappedSite, axis_of, is_decorator, mapped_sites
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Constant

GATHERS = "gather_from_model_output"  # over an axis that a library names
Named = ast.FunctionDef | ast.AsyncFunctionDef  # what has a name


def is_unasked(site: MappedSite, resolver: Resolver) -> bool:
    """Whether nothing that a site maps can ask for its axis, as far as all files show that run with it."""
    axis = axis_of(site, resolver)
    if not isinstance(axis, Constant) or not isinstance(axis.value, str) or site.is_open:
        return False
    beside = loaded_beside(resolver, site.module)
    if any(GATHERS in module.text for module in beside):
        return False
    sites = _sites(site.module, resolver)
    others = [one for one in sites if one.node is not site.node]
    axes = {one for other in sites for one in _axis_nodes(other)}
    mapped = {inner for one in others for inner in _mapped_nodes(one)}
    within = {inner for one in _run_apart(others, mapped, beside, resolver) for inner in ast.walk(one)}
    elsewhere = axes | mapped | within
    return all(
        node in elsewhere
        for module in beside
        for node in module.nodes
        if _is_text(node, axis.value) and not _is_looked_up(node, module)
    ) and told_axes.are_shown(beside, resolver, axis.value, elsewhere)


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
    others: Sequence[MappedSite], mapped: Collection[ast.AST], beside: Collection[Module], resolver: Resolver
) -> Collection[ast.AST]:
    """The functions that only other maps run: all that mentions them is one of these, or is mapped."""
    owners = [one.module.table.parents.get(one.node) for one in others if is_decorator(one.node, one.module)]
    alone = [one for one in owners if isinstance(one, Named) and len(one.decorator_list) == 1]
    decorated = {one for one in alone if not keeps_functions(one)}
    by_name = any(told_axes.reaches_by_name(one, resolver) for one in beside)
    found: dict[str, list[tuple[ast.FunctionDef | ast.AsyncFunctionDef, Module]]] = {}
    for module in beside:
        for node in module.nodes:
            if isinstance(node, Named) and node not in decorated:
                found.setdefault(node.name, []).append((node, module))
    said = {one for module in beside for node in module.nodes for one in _other_names(node)}
    by_names = {
        name: node
        for name, [(node, module), *more] in found.items()
        if not more and name not in said and _is_called_by_name(node, module, nested=by_name)
    }
    mentions = {function: [*_mentions(name, beside)] for name, function in by_names.items()}
    apart: set[ast.AST] = {*decorated}
    while more := {
        function
        for function, places in mentions.items()
        if function not in apart
        and places
        and all(node in mapped or any(one in apart for one in _around(node, module)) for node, module in places)
    }:
        apart |= more
    return apart


def _is_called_by_name(function: ast.FunctionDef | ast.AsyncFunctionDef, module: Module, *, nested: bool) -> bool:
    """Whether all that runs a function names it: no decorator keeps it, and no class that it is of calls its methods.

    `nested`: only where it stands in another, as names that are made up do not reach it there.
    """
    parent = module.table.parents.get(function)
    if function.decorator_list or function.name.startswith("__"):
        return False
    if isinstance(parent, ast.ClassDef):
        is_called = not (nested or parent.bases or parent.keywords or parent.decorator_list)
    else:
        is_called = not nested or any(_around(function, module))
    return is_called and not keeps_functions(function)


def _other_names(node: ast.AST) -> Iterator[object]:
    """The names by which something may be reached that has another one: strings, and what an import renames."""
    if isinstance(node, ast.Constant):
        yield node.value
    elif isinstance(node, ast.alias) and node.asname is not None:
        yield node.name.rpartition(".")[2]


def _mapped_nodes(site: MappedSite) -> Iterator[ast.AST]:
    """What a map alone has of the expression that it is given: not what calls in it are given, which may keep that."""
    node = site.mapped.expression if site.mapped is not None else None
    while isinstance(node, ast.Call) and last_name(node.func) != "partial":
        node = node.func
    if node is not None and not keeps_functions(node):
        yield from ast.walk(node)


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
