"""Which releases of libraries run beside the JAX that rewritten code needs: least_releases.csv and its reader.

`tests/campaigns/least_releases.py` found them, by small programs on releases of each library.
"""

from __future__ import annotations

import csv
from functools import cache
from typing import NamedTuple

from jaxmigrate.program.old_names import Release, release
from jaxmigrate.program.tables import table_text

JAX = ("jax", "jaxlib")
PYTHON = "python"


class Least(NamedTuple):
    """One row.

    Attributes:
        name: The library.
        release: The least release that runs beside jax 0.6.1.
        beside_newest: The least that also runs beside the newest JAX, which a requirement without an end lets in.
        with_numpy_1: The first and the last of older releases that run too, but beside NumPy 1 only.
    """

    name: str
    release: Release
    beside_newest: Release
    with_numpy_1: tuple[Release, ...] = ()


@cache
def least_releases() -> dict[str, Least]:
    """The table by name."""
    rows = csv.reader(table_text("least_releases.csv").splitlines())
    next(rows)
    return {
        name: Least(
            name, release(least), release(newest or least), tuple(map(release, filter(None, numpy_1.split("-"))))
        )
        for name, least, newest, numpy_1, _ in rows
    }


def normal(name: str) -> str:
    """The name of a library as the table has it."""
    lower = name.lower().replace("_", "-").replace(".", "-")
    return next((one for one in least_releases() if one.replace("_", "-") == lower), lower)
