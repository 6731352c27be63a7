"""The arrows between modules run one way: no cycle, no room above another's, LibCST and JAX each in one place."""

from __future__ import annotations

import ast
import functools
import importlib.util
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIBCST, JAX = "codemod.", "verify.child."


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("arrows", ROOT / "tools" / "arrows.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


arrows = _tool()
MODULES = arrows.modules()


@functools.cache
def imports() -> list[Any]:
    """Every import of one module by another: read once, by the tests and not by each process that collects them."""
    return list(arrows.imports(MODULES))


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Not even in a function, or for its types."""
    graph: defaultdict[str, list[str]] = defaultdict(list)
    for one in imports():
        graph[one.source].append(one.target)
    assert len(MODULES) > 300
    assert arrows.cycle(graph) == []


def test_a_cycle_would_be_found() -> None:
    graph = {"a": ["b", "c"], "b": ["c"], "c": [], "d": ["a", "e"], "e": ["f"], "f": ["d"]}
    assert arrows.cycle(graph) == ["d", "e", "f", "d"]
    assert arrows.cycle({"a": ["b", "c"], "b": ["c"], "c": []}) == []


def test_rooms_import_from_those_below() -> None:
    height = {room: level for level, rooms in enumerate(arrows.LAYERS) for room in rooms}
    between = arrows.between_rooms(imports())
    upward = {ends: [f"{one.source} -> {one.target}" for one in found] for ends, found in between.items()}
    assert {ends: found for ends, found in upward.items() if height[ends[0]] <= height[ends[1]]} == {}


def test_what_is_imported_for_its_type_alone_is_loaded_only_when_it_is_needed() -> None:
    """Else it is imported like anything else: there is no cycle that would forbid it."""
    deferred = {(one.source, one.target) for one in imports() if one.deferred}
    typed = {(one.source, one.target) for one in imports() if one.typed}
    of_rules = {("rules", "findings"), ("rules", "flow.facts")}  # rules are imported by their folders' names
    assert typed - deferred - of_rules == {("codemod", "codemod.commands")} - deferred


@pytest.mark.parametrize(("library", "home"), [("libcst", LIBCST), ("jax", JAX)])
def test_a_library_is_imported_in_one_place(library: str, home: str) -> None:
    users = {name for name, path in MODULES.items() if _imports(path, library)}
    assert users
    assert {name for name in users if not name.startswith(home)} == set()


def _imports(path: Path, library: str) -> bool:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names += [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.append(node.module or "")
    return any(name == library or name.startswith(f"{library}.") for name in names)
