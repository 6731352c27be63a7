"""What functions of libraries do: the rows of library.csv, which every analysis asks by the words of its columns.

A row is a name, or the start of names where a star ends it, with what is known of it: its kind (what it maps, wraps,
reduces or makes), its effect (pure, on the host, what it does with its arguments), the value that it gives for the
variance, and its role in layouts. A name without a row may do anything.
"""

from __future__ import annotations

import ast
import re
from functools import cache

from jaxmigrate.program.tables import table_text


@cache
def _table() -> tuple[dict[str, list[str]], dict[str, list[str]], dict[str, dict[str, str]]]:
    """By word: the names that have it, the starts of names that have it, and the names with what its `=` gives them."""
    names: dict[str, list[str]] = {}
    starts: dict[str, list[str]] = {}
    values: dict[str, dict[str, str]] = {}
    _, _, rows = table_text("library.csv").partition("\nname,kind,effect,value,layout\n")
    for row in rows.splitlines():
        name, *words = row.replace(",", " ").split()
        for word in words:
            if "=" in word:
                key, _, value = word.partition("=")
                values.setdefault(key, {})[name] = value
            elif name[-1] == "*":
                starts.setdefault(word, []).append(name[:-1])
            else:
                names.setdefault(word, []).append(name)
    return names, starts, values


def named(*words: str) -> frozenset[str]:
    """The full names of the functions that have one of some words; KeyError for a word that no name has."""
    names = _table()[0]
    return frozenset([name for word in words for name in names[word]])


@cache
def last_of_all() -> frozenset[str]:
    """What stands behind the last dot of all names that the table knows."""
    return frozenset([name.rpartition(".")[2] for some in _table()[0].values() for name in some])


def the(word: str) -> str:
    """The full name of the one function that has a word."""
    names = _table()[0][word]
    if len(names) != 1:
        raise ValueError(f"library.csv: one function alone can be `{word}`, not {', '.join(names)}")
    return names[0]


def last_names(*words: str) -> frozenset[str]:
    """What stands behind the last dot of these names, for whoever reads texts and does not follow imports."""
    return frozenset([name.rpartition(".")[2] for name in named(*words)])


def libraries() -> frozenset[str]:
    """The libraries that the table has a row of, by the first part of their names."""
    names, starts, _ = _table()
    return frozenset([name.partition(".")[0] for each in (*names.values(), *starts.values()) for name in each])


def mentions(word: str) -> str:
    """The pattern of a text that mentions one of these names; what may be any word is looked for in full."""
    lasts = [(name.rpartition(".")[2], name) for name in sorted(named(word))]
    return rf"\b(?:{'|'.join(re.escape(last if '_' in last else name) for last, name in lasts)})\b"


def starting(word: str) -> tuple[str, ...]:
    """What the names of all functions that have a word start with, where the table has no row for each."""
    return tuple(_table()[1][word])


def by_position(call: ast.Call, name: str) -> ast.Call:
    """A call of a function with its first arguments by position, where the table knows their names; it has no place."""
    takes = valued("takes").get(name)
    if takes is None:
        return call
    names = takes.split(":")
    first, rest = [*call.args], [*call.keywords]
    if any(isinstance(one, ast.Starred) for one in first) or any(one.arg is None for one in rest):
        return call
    for parameter in names[len(first) :]:
        given = [one for one in rest if one.arg == parameter]
        if not given:
            break
        first.append(given[0].value)
        rest.remove(given[0])
    return call if len(first) == len(call.args) else ast.Call(func=call.func, args=first, keywords=rest)


def valued(word: str) -> dict[str, str]:
    """The full names of the functions that have a word with a value, and these values."""
    return _table()[2][word]
