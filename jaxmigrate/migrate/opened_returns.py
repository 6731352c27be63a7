"""Returned tuples of which a function has only the name, `return states, loss`, and whose parts have unlike specs."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from jaxmigrate.flow.layout.model import Place
from jaxmigrate.migrate.maps import Array
from jaxmigrate.program.operations import Operation, Replace, code

Parts: TypeAlias = Sequence[tuple[Place, Array]]
Change: TypeAlias = Callable[[str, int], str]  # the source of a value, and the axis that is put back into it


def opened(
    value: ast.expr, parts: Parts, changed: Callable[[ast.expr, Array], list[Operation]], expanded: Change
) -> list[Operation] | None:
    """What puts the mapped axis into the parts of a returned value; None where they have no name to be read by."""
    found: list[Operation] = []
    for element, below in _elements(value, parts):
        if below is None:
            return None
        if below[0][0] == ():
            if below[0][1].fields and not isinstance(element, ast.Name):
                return None
            found += changed(element, below[0][1])
        elif any(array.drops for _, array in below):
            if not isinstance(element, ast.Name) or any(array.fields for _, array in below):
                return None
            found.append(Replace(element, code(_text(element.id, below, expanded))))
        elif any(array.fields for _, array in below):
            return None
    return found


def _elements(value: ast.expr, parts: Parts) -> Iterator[tuple[ast.expr, Parts | None]]:
    """What is written out of a returned value, with the places in it; None for those of which some are not there."""
    if not isinstance(value, ast.Tuple) or parts[0][0] == ():
        yield value, parts
        return
    by_index = _by_index(parts)
    if list(by_index) != list(range(len(value.elts))) or any(isinstance(e, ast.Starred) for e in value.elts):
        yield value, None
        return
    for index, element in enumerate(value.elts):
        yield from _elements(element, by_index[index])


def _text(name: str, parts: Parts, expanded: Change) -> str:
    """The source of a tuple that is read by its name, with the axis in those parts that have it."""
    if parts[0][0] == ():
        array = parts[0][1]
        return expanded(name, array.axis) if array.drops else name
    by_index = _by_index(parts)
    texts = [_text(f"{name}[{index}]", below, expanded) for index, below in by_index.items()]
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _by_index(parts: Parts) -> dict[object, list[tuple[Place, Array]]]:
    """The parts of each element of a tuple, with their places in it."""
    found: dict[object, list[tuple[Place, Array]]] = {}
    for place, array in parts:
        found.setdefault(place[0], []).append((place[1:], array))
    return found
