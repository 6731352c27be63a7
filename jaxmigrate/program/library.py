"""What functions of libraries do: the rows of library.csv, which every analysis asks by the words of its columns.

A row is a name, or the start of names where a star ends it, with what is known of it: its kind (what it maps, wraps,
reduces or makes), its effect (pure, on the host, what it does with its arguments), the value that it gives for the
variance, and its role in layouts. A name without a row may do anything.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from jaxmigrate.program.tables import table_text


class _Rows(NamedTuple):
    """The rows that have a word: names, starts of names, and what stands behind the word's equals sign."""

    names: list[str]
    starts: list[str]
    values: dict[str, str]


@cache
def _table() -> dict[str, _Rows]:
    found: dict[str, _Rows] = {}
    _, _, rows = table_text("library.csv").partition("\nname,")
    for line in rows.splitlines()[1:]:
        name, *words = line.replace(",", " ").split()
        for word in words:
            key, _, value = word.partition("=")
            if key not in found:
                found[key] = _Rows([], [], {})
            if value:
                found[key].values[name] = value
            elif name[-1] == "*":
                found[key].starts.append(name[:-1])
            else:
                found[key].names.append(name)
    return found


def named(*words: str) -> frozenset[str]:
    """The full names of the functions that have one of some words; KeyError for a word that no row has."""
    return frozenset([name for word in words for name in _table()[word].names])


def the(word: str) -> str:
    """The full name of the one function that has a word."""
    (name,) = _table()[word].names
    return name


def starting(word: str) -> tuple[str, ...]:
    """What the names of all functions that have a word start with, where the table has no row for each."""
    return tuple(_table()[word].starts)


def valued(word: str) -> dict[str, str]:
    """The full names of the functions that have a word with a value, and these values."""
    return _table()[word].values
