"""The block that a PartitionSpec makes of an array."""

from __future__ import annotations

import ast

from jaxmigrate.flow.axis_values import axis_names
from jaxmigrate.flow.blocks.block import WHOLE, Axes, Block
from jaxmigrate.flow.written_specs import worked_out
from jaxmigrate.program.collectives import SPECS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, Argument, Constant, External


def spec_block(node: ast.expr, module: Module, resolver: Resolver) -> Block | None:
    """The block that a PartitionSpec makes of an array; None where some of its entries are not in sight."""
    value = resolver.value(node, module)
    if not isinstance(value, Application) or not isinstance(value.callee, External) or value.callee.name not in SPECS:
        found = worked_out(value, resolver)
        return None if found is None else Block(tuple(frozenset(entry) for entry in found), False)
    if any(one.keyword is not None or one.expression is None for one in value.arguments):
        return None
    return Block(tuple(_entry(one, resolver) for one in value.arguments), False)


def _entry(one: Argument, resolver: Resolver) -> Axes:
    values = resolver.argument_values(one)
    if values == (Constant(None),):
        return WHOLE
    names = axis_names(one.expression, one.module, resolver, {}) if len(values) == 1 else None
    return None if names is None else frozenset(names)
