"""Dictionaries of results whose entries have layouts of their own: `{"loss": pmean(loss), "predictions": own}`.

Most dictionaries have one layout, and some are states that maps are given again. So one is told apart only where it
would stay stacked although some of it is the same on all devices, and where nothing else loses its layout for that.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxmigrate.flow.layout import results
from jaxmigrate.flow.layout.choices import GLOBAL, Choice, Layouts, SiteChoice
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Keys, Place
from jaxmigrate.flow.variance import AbstractValue, Level
from jaxmigrate.flow.variance.lattice import OTHERS, Fields, tuple_of


def unlike(it: Interpreter, found: Layouts) -> list[tuple[ast.expr, Place]]:
    """The dictionaries of results that stay stacked, some entries of which are the same on all devices."""
    every = [
        (node, place, keys)
        for node, choice in found.sites.items()
        for place, output in zip(choice.tree.places, choice.outputs, strict=False)
        if not choice.blocked and output.layout == "stacked" and (keys := results.keys_at(it, node, place)) is not None
    ]
    return [(node, place) for node, place, keys in every if _are_unlike(it, found.sites[node], place, keys)]


def gain(found: Layouts, parted: Sequence[tuple[ast.expr, Place]]) -> bool:
    """Whether some entries of dictionaries that were stacked are global where they are told apart."""
    return any(
        output.layout in GLOBAL and (node, place[:-1]) in parted
        for node, choice in found.sites.items()
        for place, output in zip(choice.tree.places, choice.outputs, strict=False)
    )


def _are_unlike(it: Interpreter, choice: SiteChoice, place: Place, keys: Keys) -> bool:
    """Whether some entries of a dictionary are the same on all devices, and others are not."""
    node, given = choice.site.node, [_given(one) for one in choice.arguments]
    places = tuple((*place, name) for name in keys.names)
    others = [at for at in choice.tree.places if at != place]
    shape = results.returned(it, node, given, trusting=it.trust.likely)
    parts = results.parts_at(shape, [*others, *places], {place: keys})[len(others) :]
    return len({part is not None and part.level == Level.NO for part in parts}) > 1


def _given(choice: Choice) -> AbstractValue:
    """An argument as it was decided on: whether devices hold different ones."""
    if choice.parts:
        return tuple_of([_given(part) for part in choice.parts])
    if choice.layout in ("split", "stacked"):
        return AbstractValue(Level.YES)
    if not choice.fields:
        return AbstractValue(Level.NO)
    fields = {name: AbstractValue(Level.YES) for name, _ in choice.fields} | {OTHERS: AbstractValue()}
    return AbstractValue(Level.MAY, fields=Fields(fields))
