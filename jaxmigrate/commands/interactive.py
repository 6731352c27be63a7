"""`fix --interactive`: asks about each map, and about each old name in a file, before anything is written."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.commands import Failure
from jaxmigrate.commands.planning import PlannedFile
from jaxmigrate.lint.linting import place
from jaxmigrate.migrate.plan import ArrayLayout, SitePlan
from jaxmigrate.migrate.wanted import Wanted
from jaxmigrate.reports.diff import part_of_diff, shown_diff
from jaxmigrate.reports.site_layouts import summary
from jaxmigrate.sources import SourceFile
from jaxmigrate.terminal import BOLD, paint, plural, printable, wants_colour

HELP = (
    "y: yes, n: no, d: the diff around it, e: why, a: yes to all that follow, q: stop and write nothing, ?: this help"
)


class Question(NamedTuple):
    """Something to ask about: what, in a line; the change in which file and lines; what there is to explain."""

    what: str
    file: PlannedFile
    lines: tuple[int, ...]
    explained: tuple[str, ...]
    site: tuple[int, int] | None = None
    name: str = ""


class StoppedError(Exception):
    """The user wants nothing to be written."""


def ask(planned: Sequence[PlannedFile], codes: tuple[str, ...]) -> Wanted:
    """What the user wants of a plan.

    Raises:
        Failure: The plan is for a notebook, of which single cells are not asked about.
        StoppedError: Nothing is to be written.
    """
    for file in planned:
        if file.plan.changed and file.source.notebook is not None:
            raise Failure(f"--interactive asks about Python files; fix {file.source.name} by itself, without it")
    questions = [question for file in planned for question in _questions(file)]
    sites: defaultdict[Path, set[tuple[int, int]]] = defaultdict(set)
    names: defaultdict[Path, set[str]] = defaultdict(set)
    for number, question in enumerate(questions, 1):
        answer = _answer(question, f"{number} of {len(questions)}", sys.stdin.readline)
        if answer == "a":
            break
        if answer == "n":
            path = place(question.file.source)
            if question.site is not None:
                sites[path].add(question.site)
            else:
                names[path].add(question.name)
    return Wanted(
        codes,
        {path: frozenset(found) for path, found in sites.items()},
        {path: frozenset(found) for path, found in names.items()},
    )


def _questions(file: PlannedFile) -> Iterator[Question]:
    source = file.source
    for site in file.sites:
        if site.status == "rewritten":
            what = f"{site.place}: {_line(source, site.line)}"
            explained = (summary(site), *_explained(site))
            yield Question(what, file, (site.line,), explained, (site.line, site.column))
    uses = [name for name in file.plan.names if name.status == "replaced"]
    for name, count in Counter(use.name for use in uses).items():
        mine = [use for use in uses if use.name == name]
        what = f"{mine[0].place}: {name} -> {mine[0].replacement}, {plural(count, 'use')}"
        explained = (f"`jaxmigrate rule {mine[0].code}` explains it",)
        yield Question(what, file, tuple(use.line for use in mine), explained, name=name)


def _explained(site: SitePlan) -> Iterator[str]:
    """The layout of each array, and why it stays stacked."""
    for kind, arrays in (("argument", site.arguments), ("result", site.outputs)):
        yield from (_array(kind, array) for array in arrays)


def _array(kind: str, array: ArrayLayout) -> str:
    name = "all" if array.name == "*" else array.name
    return f"{kind} {name}: {array.layout}" + (f", {array.reason}" if array.reason else "")


def _line(source: SourceFile, number: int) -> str:
    lines = source.text.splitlines()
    return lines[number - 1].strip() if number <= len(lines) else ""


def _answer(question: Question, count: str, read: Callable[[], str]) -> str:
    """The answer: y, n or a."""
    colour = wants_colour(sys.stdout)
    print(paint(printable(question.what), BOLD, on=colour))
    while True:
        sys.stdout.write(f"  change it ({count})? [y,n,d,e,a,q,?] ")
        sys.stdout.flush()
        said = read()
        answer = said.strip().lower()[:1]
        if not said or answer == "q":
            print()
            raise StoppedError
        if answer in ("y", "n", "a"):
            return answer
        if answer == "d":
            file = question.file
            diff = part_of_diff(file.source, file.plan.after, question.lines)
            sys.stdout.write(shown_diff(diff, file.source.encoding, colour))
        elif answer == "e":
            for line in question.explained:
                print(f"    {printable(line)}")
        else:
            print(f"    {HELP}")
