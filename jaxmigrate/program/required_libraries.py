"""Which other libraries those of least_releases.csv require themselves: required_libraries.csv and its reader.

A release of one of them that an old list fixes may be too old for what the list asks for now.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from functools import cache

from jaxmigrate.program.tables import table_text


@cache
def _required() -> dict[str, tuple[str, ...]]:
    rows = csv.reader(table_text("required_libraries.csv").splitlines())
    next(rows)
    return {name: tuple(requires.split()) for name, requires in rows}


def required_by(libraries: Iterable[str]) -> tuple[str, ...]:
    """The libraries that some others require, and those that these require."""
    found, waiting = dict[str, None](), [*libraries]
    while waiting:
        for one in _required().get(waiting.pop(), ()):
            if one not in found:
                found[one] = None
                waiting.append(one)
    return tuple(found)
