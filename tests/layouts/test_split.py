"""The programs of the soundness suite, cut in two files of which fix is given one: their numbers stay.

`lib.py` is the head of a program, `main.py` the rest, which imports all that the head binds. `python -m
tests.layouts.test_split` takes every program and not just some.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import plan_sources
from tests.layouts.running import OBSERVER, Files, Program, run
from tests.layouts.table import provable, traps
from tests.layouts.test_soundness import KNOWN

DEFINITIONS = ast.FunctionDef | ast.ClassDef
ROOT = Path("/project")
EVERY = 28


def cuts(body: list[ast.stmt]) -> dict[str, int]:
    """Where a program can be cut: after its first definition, after its last one, in the middle."""
    places = [number for number, statement in enumerate(body, 1) if isinstance(statement, DEFINITIONS)]
    found = {"first": places[0], "last": places[-1]} if places else {}
    return {how: cut for how, cut in {**found, "middle": len(body) // 2 + 1}.items() if 1 < cut < len(body)}


def split(text: str, cut: int) -> Files | None:
    """The two files; None where the head binds nothing that the rest could import."""
    body, lines = ast.parse(text).body, text.splitlines(keepends=True)
    first = body[cut]
    start = min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", []))]) - 1
    imports = [s for s in body[:cut] if isinstance(s, ast.Import | ast.ImportFrom)]
    bound = {statement.name for statement in body[:cut] if isinstance(statement, DEFINITIONS)}
    assigned = (s for s in body[:cut] if isinstance(s, ast.Assign | ast.AnnAssign))
    stored = (n for s in assigned for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    bound |= {name.id for name in stored}
    if not bound or "from __future__" in text:
        return None
    head = "".join("".join(lines[s.lineno - 1 : s.end_lineno]) for s in imports)
    rest = "".join(lines[start:])
    return {"lib.py": "".join(lines[:start]), "main.py": f"{head}from lib import {', '.join(sorted(bound))}\n{rest}"}


@functools.cache
def programs(step: int = EVERY) -> dict[str, Files]:
    """The programs in two files, by name and cut, each once."""
    found: dict[str, Files] = {}
    texts = {name: files["main.py"] for name, files in {**traps(), **provable()}.items() if len(files) == 1}
    for name in [name for name in sorted(texts) if name not in KNOWN][::step]:
        for how, cut in cuts(ast.parse(texts[name]).body).items():
            two = split(texts[name], cut)
            if two is not None and two not in found.values():
                found[f"{name} after {how}"] = two
    return found


def views(files: Files) -> Iterator[tuple[str, Files]]:
    """The program as fix leaves it that is given one file, where that changes it."""
    for given in files:
        beside = {ROOT / name: text for name, text in {**files, "observer.py": OBSERVER}.items() if name != given}
        plan, errors = plan_sources([(given, ROOT / given, files[given])], PlanOptions("auto"), beside=beside)
        assert not errors
        if plan.files[0].changed:
            yield given, {**files, given: plan.files[0].after}


def outcomes(step: int = EVERY) -> dict[str, dict[str, Any]]:
    """What all programs end with, before and after."""
    every = []
    for name, files in programs(step).items():
        every.append(Program(name, files))
        every += [Program(f"{name} given {given}", after) for given, after in views(files)]
    return run(every)


def differences(found: dict[str, dict[str, Any]]) -> list[str]:
    """The programs that end with something else than before."""
    wrong = []
    for name, after in found.items():
        before = found[name.partition(" given ")[0]]
        same = all(after[key] == before[key] for key in ("result", "printed")) and not after["error"]
        if not before["error"] and not same:
            wrong.append(f"{name}: {after['error'][-300:]}")
    return wrong


@pytest.mark.slow
def test_numbers_stay_where_a_part_is_given() -> None:
    found = outcomes()
    assert sum(" given " in name for name in found) > 25
    assert differences(found) == []


if __name__ == "__main__":
    ended = outcomes(1)
    wrong = differences(ended)
    print(*wrong, f"{len(wrong)} of {sum(' given ' in name for name in ended)} views differ", sep="\n")
    sys.exit(bool(wrong))
