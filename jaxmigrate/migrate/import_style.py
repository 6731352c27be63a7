"""Whether a file puts `PartitionSpec as P` beside other names of an import: as isort or ruff is told, or as it does."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path
from typing import Any

from jaxmigrate.migrate.widths import ini_of, toml_of
from jaxmigrate.program.modules import Module

MANY = 3  # imports whose order may be that of isort by chance where there are fewer


def combines_as(module: Module) -> bool:
    """Whether names with an `as` stand in one import with others of their module, which isort asks to be told of."""
    said = configured(module.path.parent)
    said = _shown(module) if said is None else said
    return not _is_sorted(module) if said is None else said


def asked_for(module: Module) -> bool | None:
    """What a configuration says of new files, or the imports of one that are in order; None where they say nothing."""
    said = configured(module.path.parent)
    return _shown(module) if said is None and _is_sorted(module) else said


def _is_sorted(module: Module) -> bool:
    """Whether the imports of a file are in the order in which isort puts them by itself."""
    imports = [s for s in module.tree.body if isinstance(s, ast.Import | ast.ImportFrom)]
    sections: list[list[tuple[bool, str]]] = []
    last = -1
    for one in imports:
        if not sections or one.lineno > last + 1:
            sections.append([])
        last = one.end_lineno or one.lineno
        name = f"{'.' * one.level}{one.module or ''}" if isinstance(one, ast.ImportFrom) else one.names[0].name
        sections[-1].append((isinstance(one, ast.ImportFrom), name.lower()))
    return len(imports) >= MANY and all(section == sorted(section) for section in sections)


def _shown(module: Module) -> bool | None:
    """What the imports of a module show; None where none has a name with an `as` and others from the same module."""
    found = [s for s in module.tree.body if isinstance(s, ast.ImportFrom)]
    if any(len(s.names) > 1 and any(alias.asname for alias in s.names) for s in found):
        return True
    sources = [(s.module, s.level) for s in found]
    renamed = {(s.module, s.level) for s in found if any(alias.asname for alias in s.names)}
    return False if any(sources.count(source) > 1 for source in renamed) else None


@lru_cache(maxsize=4096)
def configured(folder: Path) -> bool | None:
    """What the nearest configuration of isort, or of ruff where it sorts imports, says; None where there is none."""
    for name in ("pyproject.toml", "ruff.toml", ".ruff.toml"):
        said = _of_toml(toml_of(folder / name), name) if (folder / name).is_file() else None
        if said is not None:
            return said
    for name, section in ((".isort.cfg", "settings"), ("setup.cfg", "isort"), ("tox.ini", "isort")):
        found = ini_of(folder / name) if (folder / name).is_file() else None
        if found is not None and section in found:
            return str(found[section].get("combine_as_imports", "")).lower() in ("1", "true", "yes")
    if folder.parent == folder or (folder / ".git").exists():
        return None
    return configured(folder.parent)


def _of_toml(content: dict[str, Any], name: str) -> bool | None:
    tools = content.get("tool", {}) if name == "pyproject.toml" else {"ruff": content}
    isort = tools.get("isort")
    if isinstance(isort, dict):
        return bool(isort.get("combine_as_imports", False))
    ruff = tools.get("ruff")
    lint = ruff.get("lint", ruff) if isinstance(ruff, dict) else {}
    chosen = [*_list(lint, "select"), *_list(lint, "extend-select")]
    if "ALL" not in chosen and not any(str(code).startswith("I0") or code == "I" for code in chosen):
        return None
    own = lint.get("isort")
    return bool(own.get("combine-as-imports", False)) if isinstance(own, dict) else False


def _list(table: dict[str, Any], key: str) -> list[Any]:
    found = table.get(key)
    return found if isinstance(found, list) else []
