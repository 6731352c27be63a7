"""Which libraries no longer have what programs of JAX use of them: last_releases.csv and its reader."""

from __future__ import annotations

import csv
from functools import cache
from typing import NamedTuple

from jaxmigrate.program.old_names import Release, release
from jaxmigrate.program.tables import table_text


class Last(NamedTuple):
    """One row.

    Attributes:
        name: The library.
        below: The first release without it.
        prefix: What the names start with that are gone.
        extra: The extra that asked for JAX, whose bounds are below 0.6.1.
        brings: What that extra asked for besides.
    """

    name: str
    below: Release
    prefix: str
    extra: str
    brings: tuple[str, ...]


@cache
def last_releases() -> tuple[Last, ...]:
    """The rows."""
    rows = csv.reader(table_text("last_releases.csv").splitlines())
    next(rows)
    return tuple(
        Last(name, release(below), prefix, extra, tuple(brings.split())) for name, below, prefix, extra, brings in rows
    )
