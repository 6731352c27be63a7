"""What mapped functions return, as far as host code tells its parts apart: tuples, and named tuples of results.

Each part has a place: the steps that lead to it, none for all that is returned.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from jaxmigrate.flow.layout import bodies, classes, mapped
from jaxmigrate.flow.layout.values import NOTHING, PLAIN, Abstract, Nothing, Ref, Tup
from jaxmigrate.flow.variance import Var
from jaxmigrate.program.values import Class, Instance

if TYPE_CHECKING:
    from jaxmigrate.flow.layout.interpreter import Interpreter

Place: TypeAlias = tuple[int | str, ...]


def outputs(it: Interpreter, site: ast.expr, count: int) -> Abstract:
    """What a mapped call gives: a tuple where its function surely returns one, or seems to return a named one."""
    if isinstance(it.mapped.get(site), Nothing) and not it.final:
        it.reads.add(("site", site))
        return NOTHING  # what the map is given comes from a function that has not been followed yet
    shape, parts = _structure(it, site, count)
    found = _named_among(it, site, shape, parts)
    given = (value for call in it.calls.values() if call.site is site for value in call.arguments)
    if found and not it.final and any(isinstance(value, Nothing) for value in given):
        return NOTHING  # it may be given what it returns
    if parts is None:
        return _part(it, site, (), shape, found)
    return Tup(tuple(_part(it, site, (i,), part, found) for i, part in enumerate(parts)))


def _part(it: Interpreter, site: ast.expr, place: Place, shape: Var | None, found: Mapping[Place, Class]) -> Abstract:
    if place not in found:
        return PLAIN if mapped.axis_of_output(it, site, place) is None else Ref(it.cell("output", site, place), shape)
    names = tuple(it.resolver.declared_fields(found[place]))
    fields = (shape.fields if shape is not None else None) or {}
    return Tup(tuple(Ref(it.cell("output", site, (*place, name)), fields.get(name)) for name in names), names)


def places(it: Interpreter, site: ast.expr, count: int) -> tuple[tuple[Place, ...], dict[Place, Class]]:
    """The parts of what a site gives, in order, and the named tuples that some of them are fields of."""
    shape, parts = _structure(it, site, count)
    found = _named_among(it, site, shape, parts)
    result: list[Place] = []
    for place in _tops(parts):
        names = it.resolver.declared_fields(found[place]) if place in found else None
        result += [(*place, name) for name in names] if names is not None else [place]
    return tuple(result), found


def _tops(parts: tuple[Var, ...] | None) -> list[Place]:
    """The places of the parts of a tuple; of all that is returned where it is none."""
    return [()] if parts is None else [(i,) for i in range(len(parts))]


def parts_at(shape: Var | None, found: Sequence[Place], classes_at: Mapping[Place, Class]) -> list[Var | None]:
    """The parts of what a function returns; None for those that it is not known to have."""
    count = len({place[0] for place in found if place and isinstance(place[0], int)})
    if count and len((shape.parts if shape is not None else None) or ()) != count:
        return [None] * len(found)
    return [_part_at(shape, place, classes_at) for place in found]


def _part_at(shape: Var | None, place: Place, found: Mapping[Place, Class]) -> Var | None:
    for depth, step in enumerate(place):
        if shape is None:
            return None
        if isinstance(step, int):
            shape = shape.parts[step] if shape.parts is not None else None
        elif made_by(shape) != found.get(place[:depth]):
            return None
        else:
            shape = (shape.fields or {}).get(step)
    return shape


def _named_among(
    it: Interpreter, site: ast.expr, shape: Var | None, parts: tuple[Var, ...] | None
) -> dict[Place, Class]:
    """The named tuples of results that a mapped function seems to return, by place.

    Their specs are such tuples as well, so that the site has to have a name for the class. What host code makes such
    tuples of, to give them to maps, is a state rather than results.
    """
    keyword = it.sites[site].keyword
    if it.by_keyword.get(site):
        return {}
    if any(keyword(name) for name in ("in_axes", "out_axes", "static_broadcasted_argnums")):
        return {}
    found: dict[Place, Class] = {}
    for place, part in zip(_tops(parts), (shape,) if parts is None else parts, strict=True):
        cls = made_by(part)
        if cls is None or part is None or set(part.fields or ()) != set(it.resolver.declared_fields(cls)):
            continue
        it.reads.add("records")
        results = classes.is_named_tuple(it, cls) and cls not in it.records.values()
        if results and classes.name_at(it, cls, site, it.sites[site].module):
            found[place] = cls
    return found


def made_by(value: Var | None) -> Class | None:
    """The class that a value is an object of."""
    return value.static.cls if value is not None and isinstance(value.static, Instance) else None


def parts_of(it: Interpreter, site: ast.expr, count: int) -> int | None:
    """How many outputs a mapped function certainly returns in a tuple; None where it may be anything else."""
    _, parts = _structure(it, site, count)
    return len(parts) if parts is not None else None


def _structure(it: Interpreter, site: ast.expr, count: int) -> tuple[Var | None, tuple[Var, ...] | None]:
    """What a mapped function returns, and its parts where that is certainly a tuple, and no list."""
    shape = mapped.shape_of(it, site, count)
    function = mapped.only_value(it, site) if shape is not None and shape.parts is not None else None
    is_tuple = function is not None and bodies.returns_tuple(function, it.resolver)
    return shape, shape.parts if shape is not None and is_tuple else None
