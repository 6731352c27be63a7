"""What mapped functions return, as far as host code tells its parts apart: tuples, named tuples and dictionaries.

Each part has a place: the steps that lead to it, none for all that is returned. A tuple in a tuple is told apart as
well, where every return surely gives one there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from jaxmigrate.flow.layout import classes, initializers, mapped_bodies, returned_trees, traced_flags
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Keys, Place, SiteCall
from jaxmigrate.flow.layout.values import NOTHING, PLAIN, Abstract, Dct, Func, Nothing, Ref, Tup
from jaxmigrate.flow.variance import AbstractValue, Mode, from_outside, read
from jaxmigrate.flow.variance.lattice import field_of, replace
from jaxmigrate.program.once import once
from jaxmigrate.program.sites import MappedSite, axis_of, listed, literal_of, mapped_values
from jaxmigrate.program.values import Class, Constant, Function, Instance, Value, Values

Record: TypeAlias = "Class | Keys"


def outputs(it: Interpreter, site: ast.expr, count: int, call: ast.expr) -> Abstract:
    """What a mapped call gives: a tuple or dictionary where its function surely returns one, or a named tuple."""
    if isinstance(it.maps.mapped.get(site), Nothing) and not it.final:
        it.reads.add(("site", site))
        return NOTHING  # what the map is given comes from a function that has not been followed yet
    tree = _structure(it, site, count)
    found = _named_among(it, site, tree)
    given = (value for call in it.maps.calls.values() if call.site is site for value in call.arguments)
    if found and not it.final and any(isinstance(value, Nothing) for value in given):
        return NOTHING  # it may be given what it returns
    return _output(it, site, (), tree, found, call)


def _output(
    it: Interpreter, site: ast.expr, place: Place, tree: Tree, found: Mapping[Place, Record], call: ast.expr
) -> Abstract:
    if tree.parts is None:
        return _part(it, site, place, tree.shape, found, call)
    return Tup(tuple(_output(it, site, (*place, i), part, found, call) for i, part in enumerate(tree.parts)))


def _part(
    it: Interpreter,
    site: ast.expr,
    place: Place,
    shape: AbstractValue | None,
    found: Mapping[Place, Record],
    call: ast.expr,
) -> Abstract:
    if place not in found:
        return PLAIN if axis_of_output(it, site, place) is None else Ref(it.joined_group("output", site, place), shape)
    names, fields = _names_of(it, found[place]), (shape.fields if shape is not None else None) or {}
    refs = [Ref(it.joined_group("output", site, (*place, name)), fields.get(name)) for name in names]
    if isinstance(found[place], Keys):
        box = it.box("results", call, site, place)
        for name, ref in zip(names, refs, strict=True):
            it.fill(box, ref, site, it.sites[site].module, name)
        box.is_results = {*box.fields} == {*names} and isinstance(box.element, Nothing)
        return Dct(box)
    return Tup(tuple(refs), names)


def _names_of(it: Interpreter, record: Record) -> tuple[str, ...]:
    """The fields of a named tuple, the keys of a dictionary."""
    return record.names if isinstance(record, Keys) else tuple(it.resolver.declared_fields(record))


def places(it: Interpreter, site: ast.expr, count: int) -> tuple[tuple[Place, ...], dict[Place, Record]]:
    """The parts of what a site gives, in order, and the named tuples and dictionaries that these are in."""
    tree = _structure(it, site, count)
    found = _named_among(it, site, tree)
    result: list[Place] = []
    for place, _ in tree.leaves():
        names = _names_of(it, found[place]) if place in found else None
        result += [(*place, name) for name in names] if names is not None else [place]
    return tuple(result), found


def parts_at(
    shape: AbstractValue | None, found: Sequence[Place], classes_at: Mapping[Place, Record]
) -> list[AbstractValue | None]:
    """The parts of what a function returns; None for those that it is not known to have."""
    steps: dict[Place, set[int]] = {}
    for place in found:
        for depth, step in enumerate(place):
            if isinstance(step, int):
                steps.setdefault(place[:depth], set()).add(step)
    counts = {place: len(own) for place, own in steps.items()}
    return [_part_at(shape, place, counts, classes_at) for place in found]


def _part_at(
    shape: AbstractValue | None, place: Place, counts: Mapping[Place, int], found: Mapping[Place, Record]
) -> AbstractValue | None:
    for depth, step in enumerate(place):
        if shape is None:
            return None
        if isinstance(step, int):
            if shape.parts is not None and len(shape.parts) != counts[place[:depth]]:
                return None
            shape = shape.parts[step] if shape.parts is not None else _any_part(shape)
        elif isinstance(found.get(place[:depth]), Keys):
            shape = field_of(shape, step)
        elif made_by(shape) != found.get(place[:depth]):
            return None
        else:
            shape = (shape.fields or {}).get(step)
    return shape


def _any_part(shape: AbstractValue) -> AbstractValue:
    """What any part of a tuple may be of which only the whole is known."""
    return replace(shape, static=None, fields=None)


def _named_among(it: Interpreter, site: ast.expr, tree: Tree) -> dict[Place, Record]:
    """The named tuples of results that a mapped function seems to return, and the dictionaries, by place.

    The specs of named tuples are such tuples as well, so that the site has to have a name for the class. What host code
    makes such tuples of, to give them to maps, is a state rather than results.
    """
    keyword = it.sites[site].keyword
    if it.maps.by_keyword.get(site):
        return {}
    if any(keyword(name) for name in ("in_axes", "out_axes", "static_broadcasted_argnums")):
        return {}
    found: dict[Place, Record] = {}
    for place, part in tree.leaves():
        cls = made_by(part)
        if cls is None and part is not None and (keys := _keys_at(it, site, place)) is not None:
            found[place] = keys
        if cls is None or part is None or set(part.fields or ()) != set(it.resolver.declared_fields(cls)):
            continue
        it.reads.add("records")
        results = classes.is_named_tuple(it, cls) and cls not in it.maps.records.values()
        if results and classes.name_at(it, cls, site, it.sites[site].module):
            found[place] = cls
    return found


def _keys_at(it: Interpreter, site: ast.expr, place: Place) -> Keys | None:
    """The keys of a dictionary of results whose entries are told apart."""
    return keys_at(it, site, place) if (site, place) in it.parted else None


def keys_at(it: Interpreter, site: ast.expr, place: Place) -> Keys | None:
    """The keys of the dictionary that a mapped function certainly returns at a place."""
    function = only_value(it, site)
    if function is None or not is_first(axis_of_output(it, site, place)):
        return None
    keys = returned_trees.keys_at(function, place, it.resolver)
    return Keys(keys) if keys is not None else None


def made_by(value: AbstractValue | None) -> Class | None:
    """The class that a value is an object of."""
    return value.static.cls if value is not None and isinstance(value.static, Instance) else None


def parts_of(it: Interpreter, site: ast.expr, count: int) -> int | None:
    """How many outputs a mapped function certainly returns in a tuple; None where it may be anything else."""
    parts = _structure(it, site, count).parts
    return len(parts) if parts is not None else None


@dataclass(frozen=True, slots=True)
class Tree:
    """What is returned at a place; `parts` are its own where that is certainly a tuple, and no list."""

    shape: AbstractValue | None
    parts: tuple[Tree, ...] | None = None

    def leaves(self, place: Place = ()) -> Iterator[tuple[Place, AbstractValue | None]]:
        """All that is no such tuple, with its place."""
        if self.parts is None:
            yield place, self.shape
        for index, part in enumerate(self.parts or ()):
            yield from part.leaves((*place, index))


def _structure(it: Interpreter, site: ast.expr, count: int) -> Tree:
    """What a mapped function returns, and its parts where that is certainly a tuple."""
    shape = shape_of(it, site, count)
    function = only_value(it, site) if shape is not None and shape.parts is not None else None
    if function is not None and mapped_bodies.returns_tuple(function, it.resolver):
        carry = it.maps.sizes.get((site, 0), 0) if mapped_bodies.is_scan(function, it.resolver) else 0
        return _tuples(it, function, shape, (), carry > 0)
    unpacked = initializers.unpacked_into(it, site) if it.trust.likely else None
    if unpacked is None:
        return Tree(shape)
    if shape is not None and shape.parts is not None and len(shape.parts) == unpacked:
        return Tree(shape, tuple(map(Tree, shape.parts)))
    return Tree(shape, (Tree(replace(shape or AbstractValue(), parts=None)),) * unpacked)


def _tuples(it: Interpreter, function: Value, shape: AbstractValue | None, place: Place, carries: bool) -> Tree:
    """The parts of a tuple that a function returns at a place, and theirs; `carries`: a scan that is given a tuple."""
    parts = shape.parts if shape is not None else None
    is_tuple = mapped_bodies.returns_tuple(function, it.resolver, place) or (carries and place == (0,))
    if parts is None or (place and not parts) or not is_tuple:
        return Tree(shape)
    return Tree(shape, tuple(_tuples(it, function, part, (*place, i), carries) for i, part in enumerate(parts)))


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
def _readings(
    _it: Interpreter,
) -> dict[object, tuple[Values, AbstractValue | None]]:
    """What the functions of sites return, with the functions that this was told of."""
    return {}


def returned(
    it: Interpreter, site: ast.expr, given: Sequence[AbstractValue], trusting: bool = False
) -> AbstractValue | None:
    """What the function that a site maps returns, given which arguments differ between devices.

    None where the function is not in sight. With `trusting` only the structure of the result counts, not its levels.
    """
    it.reads.add(("site", site))
    functions = _functions(it, site)
    held = traced_flags.held(it, site, functions[0]) if len(functions) == 1 else ()
    key = (site, tuple(given), trusting, held)
    known = _readings(it).get(key)
    if known is not None and known[0] == functions:
        return known[1]
    found: AbstractValue | None = None
    mapped = it.sites[site]
    axis = axis_of(mapped, it.resolver)
    axes = frozenset({axis.value}) if isinstance(axis, Constant) and isinstance(axis.value, str) else frozenset()
    names = it.maps.by_keyword.get(site, ())
    first = len(given) - len(names)  # below 0 where its calls do not give as many
    if len(functions) == 1 and first >= 0 and (axes or axis is None):
        named = dict(zip(names, given[first:], strict=True))
        outer = axes or frozenset({" unnamed "})
        static = listed(mapped, "static_broadcasted_argnums", it.resolver) or ()
        arguments = [from_outside(one, i) if i in static else one for i, one in enumerate(given[:first])]
        reading = read(functions[0], arguments, outer, it.resolver, named, Mode(trusting, local=True, held=held))
        if reading.assumed:
            it.assumed.guessed.add(site)
        if reading.reductions:
            it.assumed.reducing.add(site)
        found = reading.returned
        if found.parts is None and mapped_bodies.gives_pair(functions[0], it.resolver):
            found = replace(found, parts=(found, found))
    _readings(it)[key] = (functions, found)
    return found


def shape_of(it: Interpreter, site: ast.expr, count: int) -> AbstractValue | None:
    """The structure of what a mapped function returns."""
    given = [_given_shape(it, site, index) for index in range(count)]
    return returned(it, site, given, trusting=True)


def _given_shape(it: Interpreter, site: ast.expr, index: int) -> AbstractValue:
    """The structure of an argument: one array, a tuple of as many parts at every call, or anything."""
    if ("tree", site, index) not in it.variables:
        return AbstractValue(kind="array")
    sizes = {_size(call.arguments[index]) for call in it.maps.calls.values() if _gives(call, site, index)}
    size = sizes.pop() if len(sizes) == 1 and site not in it.blockers.escaped else None
    return AbstractValue(parts=(AbstractValue(),) * size if size else None)


def _gives(call: SiteCall, site: ast.expr, index: int) -> bool:
    """Whether a call gives a site an argument, as far as it has been followed."""
    own = call.site is site and index < len(call.arguments)
    return own and not isinstance(call.arguments[index], Nothing)


def _size(value: Abstract) -> int | None:
    """How many parts a tuple has; None of anything else."""
    return len(value.parts) if isinstance(value, Tup) and not value.names else None


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
