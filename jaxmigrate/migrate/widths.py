"""How long the lines of a file may be: as its formatter is told, else as its lines show."""

from __future__ import annotations

import configparser
import tomllib
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import Any

from jaxmigrate.program.modules import Module

USUAL = (79, 80, 88, 100, 120)
DEFAULT = 88
FEW = 3
YAPF = {"pep8": 79, "google": 80, "yapf": 80, "chromium": 80, "facebook": 80}


def line_width(module: Module) -> int:
    """The width of a module: what the nearest configuration of a formatter or linter says, or what its lines show."""
    return configured_width(module.path.parent) or shown_width(module.lines)


def shown_width(lines: list[str]) -> int:
    """The smallest of the usual widths that nearly all lines of code keep within."""
    lengths = [len(line.rstrip()) for line in lines if line.strip() and not line.lstrip().startswith("#")]
    for width in USUAL:
        longer = sum(length > width for length in lengths)
        if longer <= 0.02 * len(lengths):
            return width
    return USUAL[-1]


@lru_cache(maxsize=4096)
def configured_width(folder: Path) -> int | None:
    """The width that a configuration in a folder or one above it gives; a repository ends the search."""
    for name, read in READERS:
        path = folder / name
        width = read(path) if path.is_file() else None
        if width:
            return width
    if folder.parent == folder or (folder / ".git").exists():
        return None
    return configured_width(folder.parent)


def toml_of(path: Path) -> dict[str, Any]:
    """What a TOML file says; nothing where it cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _number(value: object) -> int | None:
    try:
        number = int(str(value))
    except ValueError:
        return None
    return number if number > 0 else None


def _of_pyproject(path: Path) -> int | None:
    tools = toml_of(path).get("tool", {})
    if not isinstance(tools, dict):
        return None
    for tool, key in (("black", "line-length"), ("ruff", "line-length"), ("yapf", "column_limit")):
        said = tools.get(tool)
        if isinstance(said, dict):
            width = _number(said.get(key)) or (_of_yapf(said) if tool == "yapf" else None)
            if width or tool == "black":
                return width or DEFAULT
    return None


def _of_ruff(path: Path) -> int | None:
    return _number(toml_of(path).get("line-length", DEFAULT))


def _of_yapf(said: dict[str, Any] | configparser.SectionProxy) -> int | None:
    return _number(said.get("column_limit")) or YAPF.get(str(said.get("based_on_style", "")).lower())


def ini_of(path: Path, prefix: str = "") -> configparser.ConfigParser:
    """What a file of sections says; nothing where it cannot be read."""
    found = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    try:
        found.read_string(prefix + path.read_text(encoding="utf-8"))
    except (OSError, ValueError, configparser.Error):
        return configparser.ConfigParser()
    return found


def _of_yapf_file(path: Path) -> int | None:
    found = ini_of(path)
    return next((_of_yapf(found[name]) for name in ("style", "yapf") if name in found), None)


def _of_linter(path: Path) -> int | None:
    found = ini_of(path)
    for name, key in (
        ("yapf", ""),
        ("flake8", "max-line-length"),
        ("pycodestyle", "max-line-length"),
        ("pep8", "max-line-length"),
        ("FORMAT", "max-line-length"),
    ):
        if name in found:
            width = _number(found[name].get(key)) if key else _of_yapf(found[name])
            if width:
                return width
    return None


def _of_editor(path: Path) -> int | None:
    found = ini_of(path, "[preamble]\n")
    widths = [_number(found[name].get("max_line_length")) for name in found.sections() if _is_for_python(name)]
    return next((width for width in reversed(widths) if width), None)


def _is_for_python(section: str) -> bool:
    """Whether a section of an .editorconfig, such as `*.{py,pyi}`, is for Python files."""
    head, brace, rest = section.partition("{")
    choices, _, tail = rest.partition("}")
    return any(
        fnmatch("file.py", f"{head}{choice.strip()}{tail}") for choice in (choices.split(",") if brace else [""])
    )


def _readers() -> Iterator[tuple[str, Callable[[Path], int | None]]]:
    yield "pyproject.toml", _of_pyproject
    yield ".ruff.toml", _of_ruff
    yield "ruff.toml", _of_ruff
    yield ".style.yapf", _of_yapf_file
    for name in ("setup.cfg", ".flake8", "tox.ini", ".pylintrc", "pylintrc"):
        yield name, _of_linter
    yield ".editorconfig", _of_editor


READERS = tuple(_readers())
