"""PartitionSpecs: which axes one names, and which outputs declare a value replicated."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from jaxmigrate.flow.axis_values import axis_names
from jaxmigrate.flow.variance import Level, Var
from jaxmigrate.program.collectives import SPECS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, Constant, External


def spec_axes(node: ast.expr, module: Module, resolver: Resolver) -> frozenset[str] | None:
    """The axes that a PartitionSpec names, None where that is not known."""
    value = resolver.value(node, module)
    if not isinstance(value, Application) or not isinstance(value.callee, External) or value.callee.name not in SPECS:
        return None
    names: set[str] = set()
    for one in value.arguments:
        found = axis_names(one.expression, one.module, resolver, {}) if one.keyword is None else None
        if found is None or len(resolver.argument_values(one)) > 1:  # `P("i" if split else None)`
            return None
        names.update(found)
    return frozenset(names)


def spec_var(node: ast.expr, module: Module, resolver: Resolver) -> Var:
    """What a block with this spec is: equal on all devices under `P()`, different under one that splits it.

    What has None for a spec holds no arrays: it is what an argument is that a jit around takes for static.
    """
    if resolver.value(node, module) == Constant(None):
        return Var(Level.NO)
    axes = spec_axes(node, module, resolver)
    if axes is None:
        return Var(Level.MAY)
    return Var(Level.YES if axes else Level.NO)


def spec_calls(node: ast.expr, module: Module, resolver: Resolver) -> Iterator[tuple[Module, ast.expr, frozenset[str]]]:
    """Every PartitionSpec written in an expression of specs, or behind a name in it, with the axes that it names."""
    if isinstance(node, ast.Tuple | ast.List):
        for element in node.elts:
            yield from spec_calls(element, module, resolver)
    elif isinstance(node, ast.Dict):
        for entry in node.values:
            yield from spec_calls(entry, module, resolver)
    else:
        value = resolver.value(node, module)
        axes = spec_axes(node, module, resolver)
        if axes is not None and isinstance(value, Application):
            yield value.module, value.node, axes


def out_vars(
    node: ast.expr, module: Module, value: Var, replicated: Callable[[ast.expr, Module], bool]
) -> Iterator[tuple[Module, ast.expr, str]]:
    """The output declarations that say replicated of a value that certainly varies, and which output each means."""
    if not isinstance(node, ast.Tuple | ast.List):
        if value.level == Level.YES and replicated(node, module):
            yield module, node, "the output"
    elif value.parts is not None and len(value.parts) == len(node.elts):
        for index, (element, part) in enumerate(zip(node.elts, value.parts, strict=True)):
            if part.level == Level.YES and replicated(element, module):
                yield module, element, f"output {index}"
