"""What comments and docstrings of a program say of pmap, when no code of it calls that any more."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from jaxmigrate.migrate.plan import FilePlan, Plan
from jaxmigrate.migrate.pmap_names import calls_pmap
from jaxmigrate.migrate.read_texts import ReadTexts
from jaxmigrate.migrate.style import style_of
from jaxmigrate.program.modules import Module

PMAP = re.compile(r"\bpmap")
SUBJECT = re.compile(r"\b(?:jax|flax)\b")  # elsewhere pmap may be another word


def without_pmap(plan: Plan, paths: Mapping[str, Path], beside: Mapping[Path, str], read: ReadTexts) -> Plan:
    """The plan whose files say shard_map in words too, if it leaves no pmap in the program."""
    sites = [site for file in plan.files for site in file.sites]
    if not any(site.status == "rewritten" for site in sites) or any(site.status == "left" for site in sites):
        return plan
    after = {paths[file.path]: file.after for file in plan.files if file.path in paths}
    try:
        speaking = {path: read.module(path, text) for path, text in {**beside, **after}.items() if PMAP.search(text)}
    except SyntaxError:
        return plan
    if any(map(calls_pmap, speaking.values())):
        return plan
    return Plan(tuple(_reworded(file, paths, speaking, read) for file in plan.files))


def _has_functions(module: Module) -> bool:
    """Whether a file defines functions of its own that are called after pmap: what it says may be about these."""
    names = (node.name for node in module.nodes if isinstance(node, ast.FunctionDef | ast.ClassDef))
    return any("pmap" in name for name in names)


def _reworded(file: FilePlan, paths: Mapping[str, Path], speaking: Mapping[Path, Module], read: ReadTexts) -> FilePlan:
    from jaxmigrate.codemod.said import reworded_everywhere

    path = paths.get(file.path)
    if path is None or path not in speaking or not SUBJECT.search(file.after):
        return file
    if not file.sites and _has_functions(speaking[path]):
        return file
    width = style_of(read.module(path, file.before)).width
    return replace(
        file,
        after=reworded_everywhere(file.after, width),
        marked_after=reworded_everywhere(file.marked_after, width),
    )
