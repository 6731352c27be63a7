"""The state of a project's migration, for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from jaxmigrate.reports.status import STATES, Status
from jaxmigrate.terminal import BOLD, paint, plural

MOST = 10


def write(status: Status, colour: bool = False, width: int = 100) -> str:
    """The page, as wide as the terminal."""
    return "\n".join(line.rstrip() for line in _lines(status, colour, width)) + "\n"


def _lines(status: Status, colour: bool, width: int) -> Iterator[str]:
    yield paint(textwrap.fill(status.headline, width), BOLD, on=colour)
    total = status.maps + status.done
    if total:
        yield _bar(status.done, total, min(width, 100) - 30)
    if status.maps:
        yield from _titled("What fix makes of each pmap", colour)
        yield from (f"  {count:4}  {STATES[state]}" for state, count in status.states.items() if count)
        forms = ", ".join(f"{count} {form}" for form, count in status.forms.items())
        yield f"        by form: {forms}"
        yield from _titled("Files", colour)
        yield from _few([f"  {count:4}  {path}" for path, count in status.by_file.items()])
    if status.stays:
        yield from _titled("Why arrays stay stacked", colour)
        yield "  maps  only  cause (only: maps without another cause)"
        yield from _few([_with_example(f"  {c.sites:4} {c.frees:5}  ", c.told, c.example, width) for c in status.stays])
    if status.left:
        yield from _titled("Why maps stay", colour)
        yield from _few([_with_example(f"  {c.sites:4}  {c.code} ", c.reason, c.example, width) for c in status.left])
    if status.names:
        yield from _titled("Old names", colour)
        yield from _few(
            [
                f"  {one.uses:4}  {one.name}"
                + (f" -> {one.replacement}" if one.replacement else "")
                + (f" ({one.left} by hand, {one.code})" if one.left else "")
                for one in status.names
            ]
        )
    if status.next:
        yield from _titled("Next", colour)
        for number, (command, what) in enumerate(status.next, 1):
            yield from textwrap.wrap(f"  {number}. {command or what}", width, subsequent_indent=" " * 5)
            if command:
                yield from textwrap.wrap(what, width, initial_indent=" " * 5, subsequent_indent=" " * 5)
    for error in status.errors:
        yield f"not read: {error}"


def _titled(title: str, colour: bool) -> Iterator[str]:
    yield ""
    yield paint(title, BOLD, on=colour)


def _few(lines: list[str]) -> Iterator[str]:
    """The first of some lines, and how many more there are."""
    yield from lines[:MOST]
    if len(lines) > MOST:
        yield f"        and {len(lines) - MOST} more"


def _with_example(before: str, reason: str, example: str, width: int) -> str:
    """A line with a reason, and with a place to see it where there is room."""
    line, place = f"{before}{reason}", f" ({example})"
    room = len(line) + len(place) <= width
    return "\n".join(textwrap.wrap(line + place if room else line, width, subsequent_indent=" " * len(before)))


def _bar(done: int, total: int, width: int) -> str:
    full = width * done // total
    return f"[{'#' * full}{'-' * (width - full)}] {done} of {plural(total, 'map')} done"
