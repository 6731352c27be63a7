"""What JAX no longer calls by the name that older programs use: a table, old_names.csv, and nothing but its reader.

The linter, the rewrite, `jaxmigrate rule` and the documentation all read the table. A row whose `how` is `rename` needs
no code anywhere: the old name is replaced by the new one. `rewrite` says that the call around the name changes too,
`hand` that only a person can tell what to do, which the row's note says, `context` that no name but a way of using one
is meant.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

from jaxmigrate.program.tables import table_text

Release = tuple[int, ...]
Era = Literal["old", "new", ""]  # written for releases before TURN only, or since it only; empty where neither is known
TURN: Release = (0, 6, 0)  # the first release whose check_rep, then check_vma, sums gradients


class OldName(NamedTuple):
    """One row.

    Attributes:
        name: The full dotted name, of a function, a class or a module.
        since: The release that first warned of it, empty where none did.
        removed: The first release without it, empty where the newest still has it.
        replacement: The full dotted name to use instead, empty where there is none.
        needs: The first release that has the replacement, empty where 0.6.1, the oldest target, does.
        how: `rename`, `rewrite`, `hand` or `context`.
        code: The rule under which it is reported.
        note: What else there is to know: a condition, or what a person can do.
    """

    name: str
    since: str
    removed: str
    replacement: str
    needs: str
    how: str
    code: str
    note: str

    def holds_for(self, target: Release | None) -> bool:
        """Whether the replacement can be used in code that must run on `target` (None: on the newest) and later."""
        return target is None or not self.needs or release(self.needs) <= (*target, 0, 0)

    @property
    def told(self) -> str:
        """The row as a sentence."""
        gone = f"is gone since jax {self.removed}" if self.removed else ""
        state = gone or (f"is deprecated since jax {self.since}" if self.since else "")
        parts = [f"use {self.replacement}" if self.replacement else "", self.note]
        advice = "; ".join(part for part in parts if part)
        if not state:
            return f"{self.name}: {advice}" if advice else self.name
        return f"{self.name} {state}; {advice}" if advice else f"{self.name} {state}"


@cache
def old_names() -> dict[str, OldName]:
    """The table by name."""
    text = table_text("old_names.csv")
    rows = csv.reader(text.splitlines())
    next(rows)
    return {row[0]: OldName(*row) for row in rows}


@cache
def last_parts() -> frozenset[str]:
    """The last part of each old name."""
    return frozenset(name.rpartition(".")[2] for name in old_names())


def row_of(dotted: str) -> tuple[OldName, str] | None:
    """The row for a dotted name or for the nearest module above it, and what stands below that (`.wrap_init`)."""
    parts = dotted.split(".")
    for count in range(len(parts), 1, -1):
        row = old_names().get(".".join(parts[:count]))
        if row is not None:
            return row, "".join(f".{part}" for part in parts[count:])
    return None


def release(text: str) -> Release:
    """A release such as 0.6.1 as numbers."""
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def rows_of(code: str) -> Iterator[OldName]:
    """The rows that a rule reports."""
    return (row for row in old_names().values() if row.code == code)
