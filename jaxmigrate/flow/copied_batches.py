"""Batches of which each device is given a copy, as it is of all else, so that it computes what the others do."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.enclosing import text_around
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.kinds_of_names import kind_of
from jaxmigrate.flow.readings import DeviceMap
from jaxmigrate.flow.stacked_names import nearest
from jaxmigrate.flow.unlike_parameters import averages_gradients
from jaxmigrate.flow.variance import Level, Reading
from jaxmigrate.flow.variance.name_index import TELLING
from jaxmigrate.program.collectives import PMAPS
from jaxmigrate.program.modules import Module


class Copied(NamedTuple):
    """The call that copies a batch for a map, and the name of the parameter that the batch is for."""

    found: DeviceMap
    module: Module
    node: ast.Call
    name: str


def copied_batches(facts: Facts) -> Iterator[Copied]:
    """Such batches, of maps that are given something beside them."""
    for found, reading in facts.readings:
        if (
            found.name not in PMAPS
            or not found.axes
            or len(found.parameters()) < 2
            or not _does_the_same(found, reading, facts)
        ):
            continue
        names, repeated = found.parameters(), {call: module for module, call in facts.all_repeated(found)}
        for given, module, number in facts.given_to(found) if repeated else ():
            binding = nearest(given, module) if isinstance(given, ast.Name) else None
            made = given if binding is None or binding.path else binding.value
            position = names.index(_word(given, module)) if number < 0 and _word(given, module) in names else number
            is_batch = 0 <= position < len(names) and kind_of(names[position]) == "data" and not module.is_test
            if is_batch and isinstance(made, ast.Call) and made in repeated:
                yield Copied(found, repeated[made], made, names[position])


def _word(given: ast.expr, module: Module) -> str:
    """The keyword that something is passed by."""
    above = module.table.parents.get(given)
    return str(above.arg) if isinstance(above, ast.keyword) else ""


def _does_the_same(found: DeviceMap, reading: Reading, facts: Facts) -> bool:
    """Whether a map does the same on all devices where all that it is given is the same."""
    averaged = averages_gradients(reading) and not reading.draws and reading.returned.level == Level.NO
    if averaged and facts.confirmed(found, reading).returned.level == Level.NO:
        return True
    return TELLING.search(text_around(found.function.node, found.function.module)) is None
