"""Which module imports which, and the rooms that they are in: what tests/test_arrows.py holds and the docs draw."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
# From the ground up: a room imports from those below it, and from no other beside it
LAYERS = (
    ("base",),
    ("sources",),
    ("findings",),
    ("program",),
    ("config",),
    ("flow",),
    ("rules", "codemod"),
    ("lint", "migrate"),
    ("verify",),
    ("reports",),
    ("commands",),
)
# Modules that are in no folder of their own; `codemod.commands` is what LibCST's command line calls, as ours is `cli`
ALONE = {
    "": "base",
    "records": "base",
    "terminal": "base",
    "config_keys": "config",
    "requirement_lines": "config",
    "requirements": "config",
    "cli": "commands",
    "__main__": "commands",
    "codemod": "commands",
    "codemod.commands": "commands",
}


class Import(NamedTuple):
    """One import of a module of ours by another.

    Attributes:
        source: The module that imports.
        target: What it imports.
        deferred: Whether it does so in a function, when that is called.
        typed: Whether it does so for the type checker alone.
    """

    source: str
    target: str
    deferred: bool
    typed: bool


def modules() -> dict[str, Path]:
    """All modules, by names without `jaxmigrate.`; no rule's examples."""
    found: dict[str, Path] = {}
    for folder, prefix in ((ROOT / "jaxmigrate", ()), (ROOT / "rules", ("rules",))):
        for path in sorted(folder.rglob("*.py")):
            parts = (*prefix, *path.relative_to(folder).with_suffix("").parts)
            if path.name not in ("bad.py", "good.py") and "__pycache__" not in parts:
                found[".".join(parts).removesuffix("__init__").removesuffix(".")] = path
    return found


def imports(known: Mapping[str, Path]) -> Iterator[Import]:
    """Every import of one of our modules by another."""
    for name, path in known.items():
        for node, deferred, typed in _statements(ast.parse(path.read_bytes()), deferred=False, typed=False):
            for target in _targets(node, known):
                if target != name:
                    yield Import(name, target, deferred, typed)


def _statements(node: ast.AST, deferred: bool, typed: bool) -> Iterator[tuple[ast.AST, bool, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, deferred, typed
        later = deferred or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        checked = typed or (isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"))
        yield from _statements(child, later, checked)


def _targets(node: ast.AST, known: Mapping[str, Path]) -> Iterator[str]:
    """The modules that an import statement names: one in a package, else what holds the name."""
    names: list[tuple[str, ...]] = []
    if isinstance(node, ast.Import):
        names = [(one.name,) for one in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module is not None:
        names = [(f"{node.module}.{one.name}", node.module) for one in node.names]
    for ways in names:
        shown = [way.removeprefix("jaxmigrate.") for way in ways if way.startswith("jaxmigrate.")]
        yield from [way for way in shown if way in known][:1]


def room(module: str) -> str:
    """The room of a module."""
    return ALONE[module] if module in ALONE else module.partition(".")[0]


def between_rooms(found: Iterable[Import]) -> dict[tuple[str, str], list[Import]]:
    """The imports that lead from one room to another."""
    arrows: defaultdict[tuple[str, str], list[Import]] = defaultdict(list)
    for one in found:
        ends = room(one.source), room(one.target)
        if ends[0] != ends[1]:
            arrows[ends].append(one)
    return dict(arrows)


def cycle(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """A way from a module back to itself; empty where there is none."""
    done: set[str] = set()
    for start in graph:
        way: dict[str, Iterator[str]] = {start: iter(graph[start])}
        while way and start not in done:
            node = next(reversed(way))
            step = next((one for one in way[node] if one not in done), None)
            if step is None:
                done.add(node)
                del way[node]
            elif step in way:
                return [*list(way)[list(way).index(step) :], step]
            else:
                way[step] = iter(graph.get(step, ()))
    return []


def needed(found: Iterable[Import]) -> list[tuple[str, str]]:
    """The arrows between rooms without those that others lead to as well."""
    graph: defaultdict[str, set[str]] = defaultdict(set)
    for source, target in between_rooms(found):
        graph[source].add(target)

    def led_to(start: str) -> set[str]:
        return {target for step in graph.get(start, ()) for target in ({step} | led_to(step))}

    return sorted((a, b) for a in list(graph) for b in graph[a] if not any(b in led_to(c) for c in graph[a] - {b}))
