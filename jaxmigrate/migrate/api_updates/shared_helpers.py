"""Helpers of old names stand once, where files share a module that the rewrite adds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from jaxmigrate.migrate.api_updates.arrays import PUT
from jaxmigrate.migrate.cleanup import without_leftovers
from jaxmigrate.migrate.import_style import combines_as
from jaxmigrate.migrate.imports import used_names
from jaxmigrate.migrate.plan import FilePlan
from jaxmigrate.migrate.read_texts import ReadTexts
from jaxmigrate.migrate.sharing import NAMES
from jaxmigrate.migrate.style import style_of
from jaxmigrate.program.modules import Module, parse_module
from jaxmigrate.program.operations import After, DropStatement, Import, Operation, Replace, code

NUMPY = "jax.numpy"
HELPERS = frozenset(PUT.values())


def with_shared_helpers(
    files: Sequence[FilePlan], added: Sequence[FilePlan], paths: Mapping[str, Path], read: ReadTexts
) -> tuple[list[FilePlan], list[FilePlan]]:
    """Files and the modules that a rewrite adds for them, with a helper that several of a module's users have in it.

    `paths` are those of the files. A file keeps a helper of its own where it calls it by another name, or nothing of it
    shows how to import the module.
    """
    changed, modules = {file.path: file for file in files}, []
    for module in added:
        for helper in sorted(HELPERS):
            having = {file.path: file for file in _users(module, changed) if _gets(file, helper)}
            parsed = {name: read.module(paths[name], file.after) for name, file in having.items()}
            found = {name: way for name, one in parsed.items() if (way := _way(one, module, helper))}
            found |= _ways_beside(module, changed, helper, paths, read)
            if len(found) > 1:
                parsed |= {name: read.module(paths[name], changed[name].after) for name in found}
                module = replace(module, users=module.users | found.keys())
                module = _with(module, parsed[next(iter(found))], helper)
                changed |= {n: _without(changed[n], paths[n], helper, way, read) for n, way in found.items()}
        modules.append(module)
    return [changed[file.path] for file in files], modules


def _users(module: FilePlan, files: dict[str, FilePlan]) -> Iterator[FilePlan]:
    yield from (file for path, file in files.items() if path in module.users and path.endswith(".py"))


def _ways_beside(
    module: FilePlan, files: dict[str, FilePlan], helper: str, paths: Mapping[str, Path], read: ReadTexts
) -> dict[str, str]:
    """How files that got a helper, but nothing else of the module, import from it: as its users do, from one package.

    They do so by its full name, where they import other parts of that package so.
    """
    users = (read.module(paths[file.path], file.after) for file in _users(module, files))
    ways = {way for user in users for way in _imported_as(user, module) if "." in way and not way.startswith(".")}
    if len(ways) != 1:
        return {}
    (way,) = ways
    found = {}
    for name, file in files.items():
        if name.endswith(".py") and name not in module.users and _gets(file, helper):
            parsed = read.module(paths[name], file.after)
            before = read.module(paths[name], file.before)
            near = any(not n.level and f"{n.module}.".startswith(f"{way.partition('.')[0]}.") for n, _ in _from(before))
            if near and _can_share(parsed, helper):
                found[name] = way
    return found


def _gets(file: FilePlan, helper: str) -> bool:
    """Whether a rewrite gives a file a helper of its own."""
    return f"def {helper}(" in file.after and f"def {helper}(" not in file.before


def _way(parsed: Module, module: FilePlan, helper: str) -> str:
    """How a file that got a helper of its own imports from the module; empty where nothing shows that."""
    return next(_imported_as(parsed, module), "") if _can_share(parsed, helper) else ""


def _can_share(parsed: Module, helper: str) -> bool:
    """Whether what a helper of a file reads has the same names in the module, and its own name is free."""
    read = {n.id for n in ast.walk(_definition(parsed, helper)) if isinstance(n, ast.Name)}
    whole = _whole(parsed)
    named = {whole[name] for name in read & {*whole}}  # what the module calls jax itself
    return helper.strip("_") not in used_names(parsed) and named <= {"jax", NUMPY}


def _imported_as(parsed: Module, module: FilePlan) -> Iterator[str]:
    """The names by which a file imports from the module."""
    stem, shared = Path(module.path).stem, set(NAMES.values())
    imports = (one for one, alias in _from(parsed) if alias.name in shared)
    yield from (w for one in imports if (w := "." * one.level + (one.module or "")).split(".")[-1] == stem)


def _whole(module: Module) -> dict[str, str]:
    """The modules that a file imports, by the names that it has for them."""
    imports = (node for node in module.tree.body if isinstance(node, ast.Import))
    return {alias.asname or alias.name: alias.name for node in imports for alias in node.names}


def _definition(module: Module, helper: str) -> ast.FunctionDef:
    return next(n for n in module.tree.body if isinstance(n, ast.FunctionDef) and n.name == helper)


def _without(file: FilePlan, path: Path, helper: str, way: str, read: ReadTexts) -> FilePlan:
    """A file that imports a helper instead of having it."""
    known = frozenset(alias.asname or alias.name for _, alias in _from(read.module(path, file.before)))
    had = read.module(path, file.after)
    below = _below(had, helper)
    after = _closed_up(_importing(had, helper, way, known, read), below, file.before)
    if file.marked_after == file.after:
        return replace(file, after=after, marked_after=after)
    marked = _importing(read.module(path, file.marked_after), helper, way, known, read)
    return replace(file, after=after, marked_after=_closed_up(marked, below, file.before))


def _below(module: Module, helper: str) -> str:
    """The first line of what stands below a helper."""
    end = _definition(module, helper).end_lineno or 0
    return next((line for line in module.lines[end:] if line.strip()), "")


def _closed_up(text: str, below: str, before: str) -> str:
    """A text with no more blank lines above a line than there were before a helper came between."""
    lines, had = text.split("\n"), before.split("\n")
    if below not in had or lines.count(below) != 1:
        return text
    place, most = lines.index(below), _blanks_above(had, had.index(below))
    while _blanks_above(lines, place) > most:
        place -= 1
        del lines[place]
    return "\n".join(lines)


def _blanks_above(lines: Sequence[str], place: int) -> int:
    return next((i for i in range(place) if lines[place - 1 - i].strip()), place)


def _importing(module: Module, helper: str, way: str, known: frozenset[str], read: ReadTexts) -> str:
    from jaxmigrate.codemod.apply import rewritten

    function = _definition(module, helper)
    public = helper.strip("_")
    own = set(ast.walk(function))
    uses = [n for n in module.nodes if isinstance(n, ast.Name) and n.id == helper and n not in own]
    operations: list[Operation] = [DropStatement(function), *(Replace(one, code(public)) for one in uses)]
    operations.append(Import(way, public, own=True))
    style = style_of(module)
    after = rewritten(module.text, operations, style, statements=module.tree.body)
    return without_leftovers(module, after, known, style, read)


def _with(file: FilePlan, user: Module, helper: str) -> FilePlan:
    """A module that has a helper, too, as one of its users had it."""
    from jaxmigrate.codemod.apply import rewritten

    function = _definition(user, helper)
    module = parse_module(Path(file.path), file.after)
    public = function.name.strip("_")
    text = "\n".join(user.lines[function.lineno - 1 : function.end_lineno]).replace(
        f"def {function.name}(", f"def {public}(", 1
    )
    for bound in (bound for bound, name in _whole(user).items() if name == NUMPY):
        text = re.sub(rf"\b{re.escape(bound)}\.", f"{NUMPY}.", text)
    names = {alias.asname or alias.name: (one.module or "", alias.name) for one, alias in _from(user)}
    has = {alias.asname or alias.name for _, alias in _from(module)}
    read = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    imports = [
        Import(parent, name, "" if name == bound else bound)
        for bound, (parent, name) in names.items()
        if bound in read and bound not in has
    ]
    last = After(module.tree.body[-1], code(text))
    style = replace(style_of(user), combine_as=combines_as(module))
    after = rewritten(file.after, [*imports, last], style, statements=module.tree.body)
    return replace(file, after=after, marked_after=after)


def _from(module: Module) -> Iterator[tuple[ast.ImportFrom, ast.alias]]:
    for one in module.tree.body:
        if isinstance(one, ast.ImportFrom):
            yield from ((one, alias) for alias in one.names)
