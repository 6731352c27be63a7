"""The declaration that a program runs as one process, or as several, whatever it asks about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from jaxmigrate.migrate.decide import GUARD_WORDS, PROCESS_WORDS, Surroundings, runs_as_several
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.plan import Assumed

SAYS, SEVERAL = "the program runs as one process", "the program runs as several processes"


def as_declared(
    around: Surroundings, options: PlanOptions, texts: Mapping[Path, str]
) -> tuple[Surroundings, tuple[Assumed, ...]]:
    """What a project's files say, where its processes are declared, and what the rewrite then leans on.

    Nothing is leaned on where the files say the same: they are one process where they ask neither for the process nor
    for its devices, and several where they ask which process it is.
    """
    count = options.declared.processes
    if count > 1 and not around.several:
        options.used.add(("processes", str(count)))
        one = Assumed("declared", "processes", str(count), SEVERAL, *_first_question(texts))
        return replace(around, processes=True, several=True), (one,)
    if count != 1 or not (around.processes or around.guarded):
        return around, ()
    options.used.add(("processes", "1"))
    path, line = _first_question(texts)
    one = Assumed("declared", "processes", "1", SAYS, path, line)
    return replace(around, processes=False, guarded=False, several=False), (one,)


def as_presumed(around: Surroundings, texts: Mapping[Path, str]) -> tuple[Surroundings, Assumed]:
    """The same of a program that is taken for one process: no file asks which one it is, or it could not be another."""
    alone = replace(around, processes=False, several=False, guarded=False)
    return alone, Assumed("likely", "processes", "", SAYS, *_first_question(texts))


def written_for_one(texts: Mapping[Path, str]) -> tuple[Path, int] | None:
    """Where a program that is taken for one process counts its local devices, as one of several would."""
    if any(map(runs_as_several, texts.values())):
        return None
    path, line = _first_question(texts) if texts else (Path(), 0)
    return (path, line) if line else None


def _first_question(texts: Mapping[Path, str]) -> tuple[Path, int]:
    """The first file and line that ask about processes; the first file and no line where others do that."""
    for path, text in sorted(texts.items()):
        found = PROCESS_WORDS.search(text) or GUARD_WORDS.search(text)
        if found is not None:
            return path, text.count("\n", 0, found.start()) + 1
    return min(texts), 0
