"""Looks, in the files that fix changes, for names of JAX that the newest release lacks and that fix does not report.

    python tests/campaigns/names_left.py FOLDER... --python NEWEST

Each FOLDER holds checked-out repositories; NEWEST is an interpreter that has the newest JAX. Every name that a changed
file imports from jax, and every attribute that it reads of one of its modules, is looked up in that JAX itself, by
import and getattr. What is missing there must be among what fix reports of the file as left, or stand where the
program catches the failure. 1 if something is not.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from jaxmigrate.migrate import FilePlan, plan_sources
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.program.modules import Module, parse_module
from jaxmigrate.program.old_uses import is_guarded
from jaxmigrate.sources import SourceError, read_source

LOOKED_UP = """
import importlib, json, sys, types, warnings
warnings.simplefilter("ignore")
missing = {}
for dotted in json.load(sys.stdin):
    parts, value = dotted.split("."), None
    for count, name in enumerate(parts):
        if count and value is not None and not isinstance(value, types.ModuleType):
            break
        try:
            value = importlib.import_module(".".join(parts[: count + 1]))
            continue
        except ImportError:
            pass
        try:
            value = getattr(value, name)
        except AttributeError:
            missing[dotted] = ".".join(parts[: count + 1])
            break
json.dump(missing, sys.stdout)
"""


def names_used(module: Module) -> Iterator[tuple[str, ast.AST]]:
    """Every dotted name of JAX that a module imports or reads, with its place; told by the imports alone."""
    bound: dict[str, str] = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "jax":
                    yield alias.name, node
                    bound[alias.asname or "jax"] = alias.name if alias.asname else "jax"
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] == "jax":
            for alias in node.names:
                if alias.name != "*":
                    yield f"{node.module}.{alias.name}", node
                    bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            parts, current = [node.attr], node.value
            while isinstance(current, ast.Attribute):
                parts.append(current.attr)
                current = current.value
            if isinstance(current, ast.Name) and _is_the_import(current, bound, module):
                yield ".".join([bound[current.id], *reversed(parts)]), node


def _is_the_import(name: ast.Name, bound: dict[str, str], module: Module) -> bool:
    holder = module.table.scope_of[name].lookup(name.id)
    kinds = {binding.kind for binding in holder.bindings[name.id]} if holder is not None else set()
    return name.id in bound and bool(kinds) and kinds <= {"import", "from"}


def lacking(names: set[str], python: str) -> dict[str, str]:
    """Of some names, those that the JAX of an interpreter lacks, with the part up to what it lacks."""
    done = subprocess.run(
        [python, "-c", LOOKED_UP], input=json.dumps(sorted(names)), capture_output=True, text=True, check=True
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def changed_files(repository: Path) -> list[FilePlan]:
    """The files of a repository that fix changes."""
    sources = []
    for path in sorted(repository.rglob("*.py")):
        try:
            sources.append((path.relative_to(repository).as_posix(), path, read_source(path).text))
        except SourceError as error:
            print(error, file=sys.stderr)
    plan, _ = plan_sources(sources, PlanOptions("stacked", marks=True))
    return [file for file in plan.files if file.changed]


def main() -> int:
    """Prints what is missing and not reported, and counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    sys.setrecursionlimit(10_000)
    counts: Counter[str] = Counter()
    used: list[tuple[Path, FilePlan, Module, list[tuple[str, ast.AST]]]] = []
    for repository in sorted(path for folder in options.folders for path in folder.iterdir() if path.is_dir()):
        for file in changed_files(repository):
            module = parse_module(repository / file.path, file.after)
            used.append((repository, file, module, list(names_used(module))))
            counts["files changed"] += 1
            counts["old names replaced"] += sum(name.status == "replaced" for name in file.names)
            counts["old names left and reported"] += sum(name.status == "left" for name in file.names)
    missing = lacking({name for *_, found in used for name, _ in found}, options.python)
    for repository, file, module, found in used:
        reported = {name.name for name in file.names if name.status == "left"}
        for name, node in found:
            counts["names looked up"] += 1
            if name not in missing:
                continue
            if is_guarded(node, module):
                counts["missing, and caught by the program"] += 1
            elif any(name == one or name.startswith(f"{one}.") or one.startswith(missing[name]) for one in reported):
                counts["missing, and reported"] += 1
            else:
                counts["missing and not reported"] += 1
                print(f"{repository.name}/{file.path}:{getattr(node, 'lineno', 0)}: {name}")
    for what, count in counts.items():
        print(f"{count:6}  {what}")
    return 1 if counts["missing and not reported"] else 0


if __name__ == "__main__":
    sys.exit(main())
