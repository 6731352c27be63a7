"""Statistics that each device has of its own block, made or kept beside others that are those of all devices."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.flow.variance import AbstractValue, Level, Reading
from jaxmigrate.flow.variance.lattice import AVERAGED, OWN_MEAN
from jaxmigrate.program.modules import Module


def around_common_means(reading: Reading) -> Iterator[tuple[Module, ast.expr]]:
    """Means of the squares around the mean of all devices, and variances beside that mean, that nothing reduces."""
    return (place for mark, place in reading.halves.items() if mark not in reading.joined)


def own_means_beside_common(reading: Reading) -> Iterator[tuple[Module, ast.expr]]:
    """The means that one call hands on as each device has them, where others hand the same function those of all."""
    for given in reading.handed.values():
        own = [one for one in given if not _is_common(one[0])]
        if len(own) == 1 and len(given) > 1 and _is_own(own[0][0]):
            yield own[0][1:]


def _is_own(value: AbstractValue) -> bool:
    return value.level != Level.NO and OWN_MEAN in value.marks


def _is_common(value: AbstractValue) -> bool:
    return value.level == Level.NO and AVERAGED in value.marks
