"""The declaration that a program never runs as several processes, whatever it asks about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from jaxmigrate.migrate.decide import GUARD_WORDS, PROCESS_WORDS, Surroundings
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.plan import Assumed

SAYS = "the program runs as one process"


def as_declared(
    around: Surroundings, options: PlanOptions, texts: Mapping[Path, str]
) -> tuple[Surroundings, tuple[Assumed, ...]]:
    """What a project's files say, where it is declared to be one process, and what the rewrite then leans on.

    Nothing is leaned on where the files ask neither for the process nor for its devices: then they are written as one
    process anyway.
    """
    if options.declared.processes != 1 or not (around.processes or around.guarded):
        return around, ()
    options.used.add(("processes", "1"))
    path, line = _first_question(texts)
    return replace(around, processes=False, guarded=False), (Assumed("declared", "processes", "1", SAYS, path, line),)


def _first_question(texts: Mapping[Path, str]) -> tuple[Path, int]:
    """The first file and line that ask about processes; the first file and no line where others do that."""
    for path, text in sorted(texts.items()):
        found = PROCESS_WORDS.search(text) or GUARD_WORDS.search(text)
        if found is not None:
            return path, text.count("\n", 0, found.start()) + 1
    return min(texts), 0
