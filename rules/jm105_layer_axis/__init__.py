"""JM105: a layer is to reduce over an axis that no map binds."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import shown
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.layers import Layer, layers_of
from jaxmigrate.flow.spelling import near_miss
from jaxmigrate.program.modules import Module

CODE = "JM105"


def check(facts: Facts) -> Iterator[Finding]:
    """Layers with an axis name that nothing else in the modules that map over devices, or that they import, names."""
    for module in facts.modules:
        maps = [found for found in facts.device_maps if found.application.module is module]
        bound = frozenset(axis for found in maps for axis in found.axes or ())
        if not bound or any(found.axes is None for found in maps):
            continue
        layers = list(layers_of(module, facts.resolver))
        for layer in layers:
            if layer.axis not in bound and not _named_elsewhere(layer, layers, facts):
                yield from _finding(layer, bound, facts)


def _finding(layer: Layer, bound: frozenset[str], facts: Facts) -> Iterator[Finding]:
    near = near_miss(layer.axis, bound)
    hint = f"; did you mean {near!r}?" if near else f" (the maps bind {shown(bound)})"
    message = f"{layer.name} reduces over the axis {layer.axis!r}, which no map binds{hint}"
    yield from facts.finding(layer.module, layer.node, CODE, message)


def _named_elsewhere(layer: Layer, layers: Sequence[Layer], facts: Facts) -> bool:
    """Whether the name is written anywhere but for a layer: then some map out of sight may bind it."""
    places = {one.node for one in layers}
    return any(_writes(layer.axis, module, places) for module in {*facts.modules, layer.module})


def _writes(axis: str, module: Module, but_for: Collection[ast.expr]) -> bool:
    if repr(axis) not in module.text and f'"{axis}"' not in module.text:
        return False
    constants = (node for node in module.table.parents if isinstance(node, ast.Constant))
    return any(node.value == axis and node not in but_for for node in constants)
