"""Gathers along a dimension that another parameter's spec splits: the specs of both have changed places."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.mapped_blocks import Given, bodies
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import argument
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver


class Exchanged(NamedTuple):
    """A gathered parameter, the one whose spec fits, the dimension, and the gather."""

    own: Given
    other: Given
    place: int
    node: ast.expr
    module: Module


def exchanged_gathers(facts: Facts) -> Iterator[Exchanged]:
    """Parameters that are gathered along another dimension than is split, but as the spec of another says."""
    for body in bodies(facts):
        for part in body.inside.parts if len(body.given) > 1 else ():
            named = part.held.id if isinstance(part.held, ast.Name) and part.kind == "gathered" else ""
            own = next((one for one in body.given if one.name == named and one.block is not None), None)
            place = _dimension(part.node, part.module, facts.resolver) if own is not None else None
            if own is None or place is None:
                continue
            other = next((one for one in body.given if one is not own and _splits(one, place, part.axes)), None)
            if other is not None and own.block != other.block:
                yield Exchanged(own, other, place, part.node, part.module)


def _splits(one: Given, place: int, axes: frozenset[str]) -> bool:
    """Whether a spec splits one dimension over some axes, and no other."""
    dims = one.block.dims if one.block is not None else ()
    return place < len(dims) and dims[place] == axes and not any(dims[:place]) and not any(dims[place + 1 :])


def _dimension(node: ast.expr, module: Module, resolver: Resolver) -> int | None:
    """The dimension along which all_gather puts blocks together."""
    if not isinstance(node, ast.Call):
        return None
    given = argument(call_arguments(node, module), None, "axis")
    place = resolver.literal(given) if given is not None else 0
    return place if isinstance(place, int) and place >= 0 else None
