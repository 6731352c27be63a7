"""Helpers of old names stand once, where files share a module that the rewrite adds."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from jaxmigrate.migrate.api_updates.arrays import PUT
from jaxmigrate.migrate.cleanup import without_leftovers
from jaxmigrate.migrate.imports import used_names
from jaxmigrate.migrate.plan import FilePlan
from jaxmigrate.migrate.sharing import NAMES
from jaxmigrate.migrate.style import style_of
from jaxmigrate.program.modules import Module, parse_module
from jaxmigrate.program.operations import After, DropStatement, Import, Operation, Replace, code

HELPERS = frozenset(name for name, *_ in PUT.values())


def with_shared_helpers(files: Sequence[FilePlan], added: Sequence[FilePlan]) -> tuple[list[FilePlan], list[FilePlan]]:
    """Files and the modules that a rewrite adds for them, with a helper that several of a module's users have in it.

    A file keeps a helper of its own where it calls it by another name, or nothing of it shows how to import the module.
    """
    changed, modules = {file.path: file for file in files}, []
    for module in added:
        for helper in sorted(HELPERS):
            found = {file.path: way for file in _users(module, changed) if (way := _way(file, module, helper))}
            if len(found) > 1:
                module = _with(module, _definition(changed[next(iter(found))].after, helper))
                changed |= {path: _without(changed[path], helper, way) for path, way in found.items()}
        modules.append(module)
    return [changed[file.path] for file in files], modules


def _users(module: FilePlan, files: dict[str, FilePlan]) -> Iterator[FilePlan]:
    yield from (file for path, file in files.items() if path in module.users and path.endswith(".py"))


def _way(file: FilePlan, module: FilePlan, helper: str) -> str:
    """How a file that has a helper of its own imports from the module; empty where it has none, or it was there."""
    if f"def {helper}(" not in file.after or f"def {helper}(" in file.before:
        return ""
    parsed = _parsed(file.after)
    _, function = _definition(file.after, helper)
    read = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    whole = {a.asname or a.name: a.name for n in parsed.tree.body if isinstance(n, ast.Import) for a in n.names}
    if helper.strip("_") in used_names(parsed) or {whole[name] for name in read & {*whole}} != {"jax"}:
        return ""  # what the module calls jax itself
    stem = Path(module.path).stem
    shared = set(NAMES.values())
    imports = (one for one, alias in _from(parsed) if alias.name in shared)
    return next((w for one in imports if (w := "." * one.level + (one.module or "")).split(".")[-1] == stem), "")


def _parsed(text: str) -> Module:
    return parse_module(Path("after.py"), text)


def _definition(text: str, helper: str) -> tuple[Module, ast.FunctionDef]:
    module = _parsed(text)
    return module, next(n for n in module.tree.body if isinstance(n, ast.FunctionDef) and n.name == helper)


def _without(file: FilePlan, helper: str, way: str) -> FilePlan:
    """A file that imports a helper instead of having it."""
    after = _importing(file.after, helper, way, file.before)
    marked = after if file.marked_after == file.after else _importing(file.marked_after, helper, way, file.before)
    return replace(file, after=after, marked_after=marked)


def _importing(text: str, helper: str, way: str, before: str) -> str:
    from jaxmigrate.codemod.apply import rewritten

    module, function = _definition(text, helper)
    public = helper.strip("_")
    own = set(ast.walk(function))
    uses = [n for n in module.nodes if isinstance(n, ast.Name) and n.id == helper and n not in own]
    operations: list[Operation] = [DropStatement(function), *(Replace(one, code(public)) for one in uses)]
    operations.append(Import(way, public))
    style = style_of(module)
    after = rewritten(text, operations, style, statements=module.tree.body)
    known = frozenset(alias.asname or alias.name for _, alias in _from(_parsed(before)))
    return without_leftovers(module, after, known, style)


def _with(file: FilePlan, found: tuple[Module, ast.FunctionDef]) -> FilePlan:
    """A module that has a helper, too, as one of its users had it."""
    from jaxmigrate.codemod.apply import rewritten

    user, function = found
    module = _parsed(file.after)
    public = function.name.strip("_")
    text = "\n".join(user.lines[function.lineno - 1 : function.end_lineno]).replace(
        f"def {function.name}(", f"def {public}(", 1
    )
    names = {alias.asname or alias.name: (one.module or "", alias.name) for one, alias in _from(user)}
    has = {alias.asname or alias.name for _, alias in _from(module)}
    read = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    imports = [
        Import(parent, name, "" if name == bound else bound)
        for bound, (parent, name) in names.items()
        if bound in read and bound not in has
    ]
    last = After(module.tree.body[-1], code(text))
    after = rewritten(file.after, [*imports, last], style_of(user), statements=module.tree.body)
    return replace(file, after=after, marked_after=after)


def _from(module: Module) -> Iterator[tuple[ast.ImportFrom, ast.alias]]:
    for one in module.tree.body:
        if isinstance(one, ast.ImportFrom):
            yield from ((one, alias) for alias in one.names)
