"""Keeps the program inside its copy of the project: what it imports comes from there, what it writes stays there."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import shutil
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_LINKS: dict[str, str] = {}


def redirect_imports(root: str, copy: str, marked: list[str]) -> None:
    """Let every import of the project's files lead into its copy, editable and ordinary installs included.

    `marked` are the files that differ between the two sides, relative to the project.
    """
    sys.path[:] = [redirected(entry, root, copy) for entry in sys.path]
    sys.meta_path.insert(0, _InstalledProject(copy, marked))


class _InstalledProject(importlib.abc.MetaPathFinder):
    """Finds a package in the copy where everybody else would find an installed edition of the same package."""

    def __init__(self, copy: str, marked: list[str]) -> None:
        self.copy = copy
        self.files: dict[str, list[tuple[str, str]]] = {}
        for name in marked:
            for base in (copy, os.path.join(copy, "src")):
                inner = os.path.relpath(os.path.join(copy, name), base)
                if not inner.startswith(os.pardir):
                    top = inner.split(os.sep)[0]
                    self.files.setdefault(top.removesuffix(".py"), []).append((base, inner))

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        for base, inner in self.files.get(fullname, ()):
            spec = self._found_by_others(fullname, path, target)
            if spec is not None and any(self._is_edition_of(inner, place) for place in _places(spec)):
                return importlib.machinery.PathFinder.find_spec(fullname, [base])
        return None

    def _found_by_others(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> importlib.machinery.ModuleSpec | None:
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(fullname, path, target) if find is not None and finder is not self else None
            if spec is not None:
                found: importlib.machinery.ModuleSpec = spec
                return found
        return None

    def _is_edition_of(self, inner: str, place: str) -> bool:
        outside = not os.path.abspath(place).startswith(self.copy + os.sep)
        return outside and os.path.exists(os.path.join(os.path.dirname(place), inner))


def _places(spec: importlib.machinery.ModuleSpec) -> list[str]:
    return list(spec.submodule_search_locations or ()) or ([spec.origin] if spec.origin else [])


def redirected(entry: str, root: str, copy: str) -> str:
    """The entry, or the same place in the copy if it lies in the project and has a counterpart there."""
    if entry != root and not entry.startswith(root + os.sep):
        return entry
    counterpart = copy + entry[len(root) :]
    return counterpart if os.path.exists(counterpart) and not _leads_out(counterpart, copy) else entry


def _leads_out(path: str, copy: str) -> bool:
    """Whether the path passes through a link, as that of a virtual environment does."""
    return os.path.realpath(path) != os.path.realpath(copy) + path[len(copy) :]


def protect(links: list[str]) -> None:
    """Give the program its own copy of a linked data file when it opens one of `links` for writing."""
    _LINKS.update((link, link) for link in links)
    if _LINKS:
        sys.addaudithook(_before_open)


def _before_open(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" or not isinstance(arguments[0], (str, bytes, os.PathLike)):
        return
    if writes(arguments[1], arguments[2]):
        path = os.path.abspath(os.fsdecode(arguments[0]))
        if _LINKS.pop(path, ""):
            _materialise(path)


def writes(mode: Any, opened: Any) -> bool:
    """Whether a file that is opened in a mode, or with such flags, can be written to."""
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(opened, int) and bool(opened & (os.O_WRONLY | os.O_RDWR))


def _materialise(path: str) -> None:
    if os.path.islink(path):
        target = os.path.realpath(path)
        os.unlink(path)
        shutil.copy2(target, path)
