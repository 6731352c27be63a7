"""What mapped functions return, as far as host code tells its parts apart: tuples, and named tuples of results.

Each part has a place: the steps that lead to it, none for all that is returned.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from jaxmigrate.flow.layout import classes, initializers, mapped_bodies
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Place
from jaxmigrate.flow.layout.values import NOTHING, PLAIN, Abstract, Func, Nothing, Ref, Tup
from jaxmigrate.flow.variance import Var, read
from jaxmigrate.flow.variance.lattice import replace
from jaxmigrate.program.once import once
from jaxmigrate.program.sites import MappedSite, axis_of, literal_of, mapped_values
from jaxmigrate.program.values import Class, Constant, Function, Instance, Value, Values


def outputs(it: Interpreter, site: ast.expr, count: int) -> Abstract:
    """What a mapped call gives: a tuple where its function surely returns one, or seems to return a named one."""
    if isinstance(it.maps.mapped.get(site), Nothing) and not it.final:
        it.reads.add(("site", site))
        return NOTHING  # what the map is given comes from a function that has not been followed yet
    shape, parts = _structure(it, site, count)
    found = _named_among(it, site, shape, parts)
    given = (value for call in it.maps.calls.values() if call.site is site for value in call.arguments)
    if found and not it.final and any(isinstance(value, Nothing) for value in given):
        return NOTHING  # it may be given what it returns
    if parts is None:
        return _part(it, site, (), shape, found)
    return Tup(tuple(_part(it, site, (i,), part, found) for i, part in enumerate(parts)))


def _part(it: Interpreter, site: ast.expr, place: Place, shape: Var | None, found: Mapping[Place, Class]) -> Abstract:
    if place not in found:
        return PLAIN if axis_of_output(it, site, place) is None else Ref(it.cell("output", site, place), shape)
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
    if count and shape is not None and shape.parts is None:  # it is unpacked into as many
        shape = replace(shape, parts=(replace(shape, static=None, fields=None),) * count)
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
    if it.maps.by_keyword.get(site):
        return {}
    if any(keyword(name) for name in ("in_axes", "out_axes", "static_broadcasted_argnums")):
        return {}
    found: dict[Place, Class] = {}
    for place, part in zip(_tops(parts), (shape,) if parts is None else parts, strict=True):
        cls = made_by(part)
        if cls is None or part is None or set(part.fields or ()) != set(it.resolver.declared_fields(cls)):
            continue
        it.reads.add("records")
        results = classes.is_named_tuple(it, cls) and cls not in it.maps.records.values()
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
    shape = shape_of(it, site, count)
    function = only_value(it, site) if shape is not None and shape.parts is not None else None
    is_tuple = function is not None and mapped_bodies.returns_tuple(function, it.resolver)
    if shape is not None and is_tuple:
        return shape, shape.parts
    unpacked = initializers.unpacked_into(it, site) if it.trust.likely else None
    if unpacked is None:
        return shape, None
    known = shape is not None and shape.parts is not None and len(shape.parts) == unpacked
    return shape, shape.parts if known and shape is not None else (replace(shape or Var(), parts=None),) * unpacked


# What the function that a site maps returns


def is_first(axis: object) -> bool:
    """Whether an axis given to a map is the first one, and no truth value that equals 0."""
    return axis == 0 and axis is not False


def axis_of_output(it: Interpreter, site: ast.expr, place: Place) -> object:
    """Where an output has its device axis; None where it has none, as is one value for all devices."""
    axes = literal_of(it.sites[site], "out_axes", 0, it.resolver)
    if not isinstance(axes, tuple):
        return axes
    index = place[0] if place else None
    return axes[index] if isinstance(index, int) and index < len(axes) else ...


@once
def _readings(_it: Interpreter) -> dict[tuple[ast.expr, tuple[Var, ...], bool], tuple[Values, Var | None]]:
    """What the functions of sites return, with the functions that this was told of."""
    return {}


def returned(it: Interpreter, site: ast.expr, given: Sequence[Var], trusting: bool = False) -> Var | None:
    """What the function that a site maps returns, given which arguments differ between devices.

    None where the function is not in sight. With `trusting` only the structure of the result counts, not its levels.
    """
    it.reads.add(("site", site))
    key = (site, tuple(given), trusting)
    functions = _functions(it, site)
    known = _readings(it).get(key)
    if known is not None and known[0] == functions:
        return known[1]
    found: Var | None = None
    mapped = it.sites[site]
    axis = axis_of(mapped, it.resolver)
    axes = frozenset({axis.value}) if isinstance(axis, Constant) and isinstance(axis.value, str) else frozenset()
    names = it.maps.by_keyword.get(site, ())
    first = len(given) - len(names)  # below 0 where its calls do not give as many
    if len(functions) == 1 and first >= 0 and (axes or axis is None):
        named = dict(zip(names, given[first:], strict=True))
        outer = axes or frozenset({" unnamed "})
        reading = read(functions[0], given[:first], outer, it.resolver, named, trusting=trusting, local=True)
        if reading.assumed:
            it.assumed.guessed.add(site)
        found = reading.returned
        if found.parts is None and mapped_bodies.gives_pair(functions[0], it.resolver):
            found = replace(found, parts=(found, found))
    _readings(it)[key] = (functions, found)
    return found


def shape_of(it: Interpreter, site: ast.expr, count: int) -> Var | None:
    """The structure of what a mapped function returns."""
    trees = [("tree", site, index) in it.variables for index in range(count)]
    return returned(it, site, [Var(kind="unknown" if tree else "array") for tree in trees], trusting=True)


def only_value(it: Interpreter, site: ast.expr) -> Value | None:
    """The one function that a site maps; None where it may be one of several."""
    functions = _functions(it, site)
    return functions[0] if len(functions) == 1 else None


def _functions(it: Interpreter, site: ast.expr) -> tuple[Value, ...]:
    """What a site maps, as the interpreter saw it, else as the resolver does."""
    mapped: MappedSite = it.sites[site]
    values = mapped_values(mapped, it.resolver)
    seen = it.maps.mapped.get(site)
    if isinstance(seen, Func) and all(isinstance(item, Function) for item in seen.items):
        functions = tuple(item for item in seen.in_order() if isinstance(item, Function))
        if len(values) != 1 or not isinstance(values[0], Function):
            return functions if len(functions) == 1 or len(values) != 1 else values
    return values
