"""Which modules a text may import by a string: `importlib.import_module("plugins.noisy")`, `sys.modules["lib"]`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

BY_STRING = re.compile(r"\b(import_module|__import__|runpy|resolve_name|sys\.modules)\b")
_CALL = re.compile(r"\b(?:import_module|__import__|run_module|resolve_name)\(\s*(?:([rbfRBF]*)([\"'])([^\"'\n]*)\2)?")
_ITEM = re.compile(r"\bsys\.modules\[\s*(?:([rbfRBF]*)([\"'])([^\"'\n]*)\2)?")
_SPEC = re.compile(r"\bfind_spec\(\s*([\"'])([\w.]+)\1")
_DOTTED = re.compile(r"[\"']((?:\w+\.)+\w+)[\"']")


_RUNS = re.compile(r"\b(exec|execfile|run_path|spec_from_file_location|SourceFileLoader|load_source)[ \t]*\(")
_IMPORTING = ("import_module", "__import__", "runpy", "resolve_name", "sys.modules")
_WORDS = (*_IMPORTING, "exec", "run_path", "spec_from_file_location", "SourceFileLoader", "load_source")
_FILE = re.compile(r"[\"']([^\"'\n]*\.py)[\"']")
_CALLED = ("import_module", "__import__", "run_module", "resolve_name")
_CONFIGURING = ("fiddle", "gin", "hydra", "kauldron", "pkg_resources", "pluggy", "stevedore", "entry_points")
_CONFIGURED = re.compile(  # libraries that import what a file of another language, or an installed package, names
    r"^[ \t]*(?:from|import)\b.*\b(?:fiddle|gin|hydra|kauldron|pkg_resources|pluggy|stevedore)\b"
    r"|\b(?:entry_points|iter_entry_points|load_entry_point)\b",
    re.MULTILINE,
)


def may_run(text: str, source: Path) -> bool:
    """Whether a text may run the file at a path: by its name as a module, or by its path.

    Where it runs files and says no path, it may be any.
    """
    if may_load(text, source) or loads_anything(text):
        return True
    return _RUNS.search(text) is not None and (not _paths(text) or says_path(text, source))


def says_path(text: str, source: Path) -> bool:
    """Whether a text says the path of a file."""
    return source.name in text and any(source.parts[-len(parts) :] == parts for parts in _paths(text))


@lru_cache(maxsize=4096)
def _paths(text: str) -> tuple[tuple[str, ...], ...]:
    """The parts of the paths of Python files that a text says."""
    return tuple(Path(one).parts for one in _FILE.findall(text))


def imports_computed(text: str) -> bool:
    """Whether a text imports by a string that it does not say as a whole."""
    return any(call[3] is None or "{" in call[3] for call in _CALL.finditer(text))


@lru_cache(maxsize=4096)
def loads_anything(text: str) -> bool:
    """Whether a text imports by a string that it does not say any part of, or has a library import what it likes."""
    calls = _CALL.finditer(text) if any(word in text for word in _CALLED) else ()
    if any(call[3] is None for call in calls) and _DOTTED.search(text) is None:
        return True
    return any(word in text for word in _CONFIGURING) and _CONFIGURED.search(text) is not None


def loads_by_name(text: str) -> bool:
    """Whether a text imports by a string."""
    return any(word in text for word in _IMPORTING) and BY_STRING.search(text) is not None


def runs_others(text: str) -> bool:
    """Whether a text may run files that it does not import by a statement."""
    if not any(word in text for word in _WORDS):  # much faster than the patterns
        return False
    return BY_STRING.search(text) is not None or _RUNS.search(text) is not None


def may_load(text: str, source: Path) -> bool:
    """Whether a text says the name of the module at a path where it imports by strings.

    A string that is computed can be any that the text has: a dotted one that fits the path counts as its name.
    """
    return any(_fits(parts, is_package, source) for parts, is_package in _loaded(text))


def _fits(parts: tuple[str, ...], is_package: bool, source: Path) -> bool:
    """Whether a dotted name ends a path; of a package, any module right in it."""
    path = source.with_suffix("") if source.name != "__init__.py" else source.parent
    own = path.parts[:-1] if is_package else path.parts
    return own[-len(parts) :] == parts


@lru_cache(maxsize=4096)
def _loaded(text: str) -> tuple[tuple[tuple[str, ...], bool], ...]:
    """The dotted names that a text may load, with whether any module of a package of that name is meant."""
    if BY_STRING.search(text) is None and "exec_module" not in text:
        return ()
    return tuple(dict.fromkeys(_names(text)))


def _names(text: str) -> Iterator[tuple[tuple[str, ...], bool]]:
    computed = False
    for call in (*_CALL.finditer(text), *_ITEM.finditer(text)):
        said, is_package = call[3] or "", False
        if "f" in (call[1] or "").lower() and "{" in said:
            said, is_package = said.partition("{")[0].rpartition(".")[0], True
        is_package |= said.endswith(".")
        parts = tuple(part for part in said.partition(":")[0].split(".") if part)
        computed |= not parts
        if parts:
            yield parts, is_package
        if parts[1:] and not is_package:
            yield parts[:-1], False  # the package around it, or the module whose attribute it is
    for _, said in _SPEC.findall(text) if "exec_module" in text else ():
        yield tuple(said.split(".")), False
    for dotted in _DOTTED.findall(text) if computed else ():
        yield tuple(dotted.split(".")), False
