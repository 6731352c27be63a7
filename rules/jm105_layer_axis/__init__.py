"""JM105: a layer is to reduce over an axis that no map binds."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import shown
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.known_axes import all_run_on_meshes_of_project, known_axes
from jaxmigrate.flow.layers import Layer, layers_in, layers_of
from jaxmigrate.flow.spelling import near_miss
from jaxmigrate.program.modules import Module

CODE = "JM105"


def check(facts: Facts) -> Iterator[Finding]:
    """Layers with an axis name that no map binds which may run them, and that nothing else names."""
    told: set[ast.expr] = set()
    for layer, bound in (*_of_mapping_modules(facts), *_of_program(facts)):
        if layer.node not in told:
            told.add(layer.node)
            yield from _finding(layer, bound, facts)


def _of_mapping_modules(facts: Facts) -> Iterator[tuple[Layer, frozenset[str]]]:
    """Those in the modules that map over devices, and in what these import."""
    for module in facts.modules:
        maps = [found for found in facts.device_maps if found.application.module is module]
        bound = frozenset(axis for found in maps for axis in found.axes or ())
        if not bound or any(found.axes is None for found in maps):
            continue
        layers = list(layers_of(module, facts.resolver))
        for layer in layers:
            if layer.axis not in bound and not _named_elsewhere(layer, layers, {*facts.modules, layer.module}):
                yield layer, bound


def _of_program(facts: Facts) -> Iterator[tuple[Layer, frozenset[str]]]:
    """Those in any module, where it is known what all maps and meshes of the program bind."""
    found = [layer for module in facts.modules for layer in layers_in(module, facts.resolver)]
    if not found or not all_run_on_meshes_of_project(facts.resolver):
        return
    known = known_axes(facts.resolver)
    for layer in found if known.complete else ():
        layers = [one for one in found if one.axis == layer.axis]
        if layer.axis not in known.names and not _named_elsewhere(layer, layers, facts.resolver.project.program):
            yield layer, known.names


def _finding(layer: Layer, bound: frozenset[str], facts: Facts) -> Iterator[Finding]:
    near = near_miss(layer.axis, bound)
    hint = f"; did you mean {near!r}?" if near else f" (the maps bind {shown(bound)})"
    message = f"{layer.name} reduces over the axis {layer.axis!r}, which no map binds{hint}"
    yield from facts.finding(layer.module, layer.node, CODE, message)


def _named_elsewhere(layer: Layer, layers: Sequence[Layer], modules: Iterable[Module]) -> bool:
    """Whether the name is written anywhere but for a layer: then some map out of sight may bind it."""
    places = {one.node for one in layers}
    return any(_writes(layer.axis, module, places) for module in modules)


def _writes(axis: str, module: Module, but_for: Collection[ast.expr]) -> bool:
    if repr(axis) not in module.text and f'"{axis}"' not in module.text:
        return False
    parents = module.table.parents
    constants = (node for node in parents if isinstance(node, ast.Constant) and node.value == axis)
    return any(node not in but_for and not _is_key(node, parents.get(node)) for node in constants)


def _is_key(node: ast.Constant, above: ast.AST | None) -> bool:
    """Whether a name is that of an entry: `batch["image"]`, but not of an axis: `mesh.shape["batch"]`."""
    if isinstance(above, ast.Subscript) and above.slice is node:
        return not (isinstance(above.value, ast.Attribute) and above.value.attr == "shape")
    return isinstance(above, ast.Dict) and any(key is node for key in above.keys)
