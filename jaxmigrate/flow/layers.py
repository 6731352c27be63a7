"""Layers of a network that reduce over an axis by themselves, as batch normalisation does."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.program.modules import Module, Project
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Constant, External, Partial

LIBRARIES = ("flax.", "haiku.", "equinox.")
KEYWORDS = ("axis_name", "cross_replica_axis")
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]+)|import[ \t]+([^\n#]+))", re.MULTILINE
)
_DEEPEST = 3


class Layer(NamedTuple):
    """A layer and the axis that it is told to reduce over."""

    module: Module
    node: ast.expr
    name: str
    axis: str


def layers_of(module: Module, resolver: Resolver) -> Iterator[Layer]:
    """The layers with a constant axis name in a module and in what it imports."""
    for path in sorted({module.path, *reached(module.path, module.text, resolver.project)}):
        text = resolver.project.text(path)
        if text is not None and any(keyword in text for keyword in KEYWORDS):
            source = module if path == module.path else resolver.project.module(path)
            if source is not None:
                yield from _layers_in(source, resolver)


def _layers_in(module: Module, resolver: Resolver) -> Iterator[Layer]:
    for call in module.table.calls:
        for keyword in call.keywords:
            if keyword.arg in KEYWORDS:
                axis = resolver.value(keyword.value, module)
                name = _layer(call, module, resolver)
                if name and isinstance(axis, Constant) and isinstance(axis.value, str):
                    yield Layer(module, keyword.value, name, axis.value)


def _layer(call: ast.Call, module: Module, resolver: Resolver) -> str:
    """What a call makes, if it is a library's layer, or a partial of one."""
    values = list(resolver.values(call.func, module))
    values += [v.callee for v in resolver.values(call, module) if isinstance(v, Partial)]
    names = [v.name for v in values if isinstance(v, External) and v.name.startswith(LIBRARIES)]
    return names[0].rpartition(".")[2] if names else ""


def reached(path: Path, text: str, project: Project) -> set[Path]:
    """The files of the project that a module imports, directly or not, told by the text alone."""
    found: set[Path] = set()
    pending = [(path, text, 0)]
    while pending:
        importer, content, level = pending.pop(0)
        for target in _targets(importer, content, project):
            if target not in found:
                found.add(target)
                if level < _DEEPEST:
                    pending.append((target, project.text(target) or "", level + 1))
    return found


def _targets(importer: Path, text: str, project: Project) -> frozenset[Path]:
    """The files that the import statements of one file load."""
    if importer not in project.imports:
        found = (project.find_from(importer, name, dots) for name, dots in _imported(text))
        project.imports[importer] = frozenset(path for path in found if path is not None)
    return project.imports[importer]


def _imported(text: str) -> Iterator[tuple[str, int]]:
    for source, names, plain in _IMPORT.findall(text):
        if plain:
            yield from ((part.split(" as ")[0].strip(), 0) for part in plain.split(","))
            continue
        module = source.lstrip(".")
        dots = len(source) - len(module)
        yield module, dots
        for part in names.strip("()").split(","):
            name = part.split(" as ")[0].strip()
            if name.isidentifier():
                yield f"{module}.{name}".lstrip("."), dots
