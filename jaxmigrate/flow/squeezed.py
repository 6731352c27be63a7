"""Where `x[0]` of a device's block can become `x.squeeze(0)`: the same row where there is one, an error where more."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from jaxmigrate.flow.blocks.evidence import only_binding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.first_rows import ARRAYS
from jaxmigrate.flow.fixes import Offer, replaced
from jaxmigrate.flow.readings import DeviceMap
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.library import starting
from jaxmigrate.program.scopes import all_parameters
from jaxmigrate.program.values import Application, External, Function

FRESH = starting("fresh")


def squeezed(rows: Collection[ast.expr], name: str, found: DeviceMap, facts: Facts) -> dict[ast.expr, Offer]:
    """What to write for the first rows of a parameter: where the body takes these alone of what is certainly an array.

    Whoever looks at the whole block as well, or at another row, may want the first of several. And of a tuple `x[0]` is
    its first part, but the leaves that `tree.map` is given are arrays.
    """
    function = found.function
    taken = {id(part) for row in rows for part in ast.walk(row)}
    reads = (n for n in ast.walk(function.node) if isinstance(n, ast.Name) and n.id == name)
    if any(id(read) not in taken and _may_be_parameter(read, function) for read in reads):
        return {}
    if not _is_mapped_alone(found, facts):
        return {}
    offers: dict[ast.expr, Offer] = {}
    for row in rows:
        subscript = row.args[0].body if isinstance(row, ast.Call) and isinstance(row.args[0], ast.Lambda) else row
        is_leaf = subscript is not row
        if isinstance(subscript, ast.Subscript) and (is_leaf or _is_array(name, found, facts)):
            change = replaced(subscript, "$block.squeeze(0)", block=subscript.value)
            offers[row] = Offer("write squeeze(0), which raises where there are more rows", function.module, (change,))
    return offers


def _may_be_parameter(name: ast.Name, function: Function) -> bool:
    """Whether a name may hold, where it is read, what the function was given under it."""
    if not isinstance(name.ctx, ast.Load):
        return False
    scope = function.module.table.scope_of.get(name)
    holder = scope.lookup(name.id) if scope is not None else None
    binding = only_binding(name, function.module)
    return holder is None or (holder.node is function.node and (binding is None or binding.kind == "param"))


def _is_mapped_alone(found: DeviceMap, facts: Facts) -> bool:
    """Whether a function runs in this map only: called by itself it may be given more rows."""
    node = found.function.node
    if isinstance(node, ast.Lambda) or found.application.node in node.decorator_list:
        return True
    return sum(len(one.table.named.get(node.name, ())) for one in facts.resolver.project.program) == 1


def _is_array(name: str, found: DeviceMap, facts: Facts) -> bool:
    """Whether a parameter is annotated as an array, or given one by each call in sight."""
    parameter = next((one for one in all_parameters(found.function.node.args) if one.arg == name), None)
    annotation = parameter.annotation if parameter is not None else None
    if annotation is not None:
        return ARRAYS.search(ast.unparse(annotation)) is not None
    given = [*_given(name, found, facts)]
    return bool(given) and all(given)


def _given(name: str, found: DeviceMap, facts: Facts) -> Iterator[bool]:
    """For each call in sight, whether it gives a fresh array for a parameter."""
    position = found.parameters().index(name)
    for one in facts.shard_calls:
        if one.made.node is not found.application.node:
            continue
        arguments = call_arguments(one.call, one.module)
        if position >= len(arguments) or any(given.keyword is not None for given in arguments):
            yield False
            continue
        values = facts.resolver.argument_values(arguments[position])
        callees = [value.callee if isinstance(value, Application) else None for value in values]
        yield bool(callees) and all(isinstance(c, External) and c.name.startswith(FRESH) for c in callees)
