"""Layers of a network that reduce over an axis by themselves, as batch normalisation does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.program.imports import reached
from jaxmigrate.program.library import starting
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Constant, External, Partial

LIBRARIES = starting("layers")
HAIKU = "cross_replica_axis"  # which means the same wherever it is written, as in a configuration of layers
KEYWORDS = ("axis_name", HAIKU)


class Layer(NamedTuple):
    """A layer and the axis that it is told to reduce over."""

    module: Module
    node: ast.expr
    name: str
    axis: str


def layers_of(module: Module, resolver: Resolver) -> Iterator[Layer]:
    """The layers with a constant axis name in a module and in what it imports."""
    for path in sorted({module.path, *reached(module.path, module.text, resolver.project)}):
        if _has_keyword(path, resolver):
            source = module if path == module.path else resolver.project.module(path)
            if source is not None:
                yield from layers_in(source, resolver)


@once_each
def _has_keyword(path: Path, resolver: Resolver) -> bool:
    """Whether a file may have a layer with an axis, told once of what many modules import."""
    text = resolver.project.text(path)
    return text is not None and any(keyword in text for keyword in KEYWORDS)


def layers_in(module: Module, resolver: Resolver) -> Iterator[Layer]:
    """The layers with a constant axis name in a module."""
    if not any(keyword in module.text for keyword in KEYWORDS):
        return
    for name, node in _named_axes(module, resolver):
        axis = resolver.value(node, module)
        if isinstance(axis, Constant) and isinstance(axis.value, str):
            yield Layer(module, node, name, axis.value)


def _named_axes(module: Module, resolver: Resolver) -> Iterator[tuple[str, ast.expr]]:
    """What a layer, or the arguments that one will be given, have for an axis."""
    for call in module.table.calls:
        for keyword in call.keywords:
            if keyword.arg in KEYWORDS:
                name = _layer(call, module, resolver) or ("BatchNorm" if keyword.arg == HAIKU else "")
                if name:
                    yield name, keyword.value
    if f"'{HAIKU}'" in module.text or f'"{HAIKU}"' in module.text:
        for node in module.table.parents:
            if isinstance(node, ast.Dict):
                pairs = zip(node.keys, node.values, strict=True)
                yield from (("BatchNorm", v) for k, v in pairs if isinstance(k, ast.Constant) and k.value == HAIKU)


def _layer(call: ast.Call, module: Module, resolver: Resolver) -> str:
    """What a call makes, if it is a library's layer, or a partial of one; `nn.vmap` makes none, but binds its axis."""
    values = list(resolver.values(call.func, module))
    values += [v.callee for v in resolver.values(call, module) if isinstance(v, Partial)]
    names = [v.name for v in values if isinstance(v, External) and v.name.startswith(LIBRARIES)]
    name = names[0].rpartition(".")[2] if names else ""
    return name if name[:1].isupper() else ""
