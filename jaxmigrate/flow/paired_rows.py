"""Parameters of a mapped function that vmap, a scan or zip goes along together, though one is a block, one whole."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.mapped_blocks import Body, Given
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import VMAP, argument
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import calls_of
from jaxmigrate.program.values import Application, External

LOOPS = {"jax.lax.scan": 2, "jax.lax.map": 1}  # with the position of what they go along


class Pair(NamedTuple):
    """A parameter that is whole on each device, one that an axis splits, and where the rows of both are taken."""

    whole: Given
    split: Given
    axes: frozenset[str]
    node: ast.expr
    module: Module


def unlike_rows(body: Body, resolver: Resolver) -> Iterator[Pair]:
    """The pairs in a body; parameters that are bound again, or whose specs are not in sight, are passed over."""
    function, module = body.map.function.node, body.map.function.module
    given = {one.name: one for one in body.given if one.block is not None}
    bound = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    for call in calls_of(function) if len(given) > 1 else ():
        along = [(given[name.id], axis) for name, axis in _along(call, module, resolver) if name.id in given]
        cuts = [(one, _axes(one, axis)) for one, axis in along if one.name not in bound]
        whole = next((one for one, axes in cuts if axes == frozenset()), None)
        split = next(((one, axes) for one, axes in cuts if axes), None)
        if whole is not None and split is not None and split[1]:
            yield Pair(whole, split[0], split[1], call, module)


def _axes(one: Given, axis: int) -> frozenset[str] | None:
    """What splits the dimension of a parameter whose rows are taken."""
    dims = one.block.dims if one.block is not None else ()
    return dims[axis] if axis < len(dims) else frozenset()


def _along(call: ast.Call, module: Module, resolver: Resolver) -> Iterator[tuple[ast.Name, int]]:
    """The names whose rows a call takes together, with the dimension."""
    if isinstance(call.func, ast.Name) and call.func.id == "zip":
        yield from ((one, 0) for one in call.args if isinstance(one, ast.Name))
        return
    value = resolver.value(call.func, module)
    match value:
        case External(name=name) if name in LOOPS:
            rows = argument(call_arguments(call, module), LOOPS[name], "xs")
            node = rows.expression if rows is not None else None
            for one in node.elts if isinstance(node, ast.Tuple) else []:
                if isinstance(one, ast.Name):
                    yield one, 0
        case Application(callee=External(name=name), arguments=arguments) if name == VMAP:
            if len(arguments) and not any(isinstance(one, ast.Starred) for one in call.args):
                given = argument(arguments, 1, "in_axes")
                axes = resolver.literal(given) if given is not None else 0
                each = axes if isinstance(axes, tuple) else (axes,) * len(call.args)
                for one, axis in zip(call.args, each, strict=False):
                    if isinstance(one, ast.Name) and isinstance(axis, int) and axis >= 0:
                        yield one, axis
