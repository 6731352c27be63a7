"""What is known of a value inside a map: how sure it is that devices hold different ones, and what it is made of.

The order is flat: "certainly equal" and "certainly different" both lie below "may differ", so that ways that meet, and
loops that go round, only ever lose certainty.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any, Literal, NamedTuple, TypeAlias

from jaxmigrate.program.modules import Module
from jaxmigrate.program.values import Constant, Instance, Value
from jaxmigrate.records import record

Kind: TypeAlias = Literal["array", "tree", "dict", "unknown"]
MOST_CHOICES = 4
DATA = "data, by its name"
UNREDUCED = "made of gradients that nothing has reduced"
BESIDE = "the loss, or what comes with it, of a function whose gradient is taken"
GIVEN = "given"  # to the map, and no constant of its body
OF_EQUAL = "gradient with respect to a value that is equal everywhere"
STATISTICS = "statistics of a device's own batch"
VARYING = "cast to one value for each device"  # by `pcast`: equal, and JAX sums no gradient of it
SCATTERED = "the gradient of a shard of a device's own that the loss gathers"
INDEXED = "chosen by the index of the device"
TOTAL = "a sum of all that a device has"
MEAN = "a mean, or the gradient of one"
CLIPPING = "a factor that keeps a norm within bounds"
SUMMED = "a sum of means"  # and where
TOTALS = "a sum over the devices of all that each has"
SHARE = "what a device has, divided by what all of them have together"
OWN_LENGTH = "the lengths of a device's own block, or their product"
SHAPED = "the shape of a value that is equal everywhere"
GATHERED = "all devices' values side by side, which JAX takes for a value of each device's own"
SMALL = "divided by the number of devices once too often"  # and where
DRAWN = "made of random numbers"
KEPT = "key of parameter "  # and its number: a key made of nothing else that is given, the same for as long as that is
STEP = "made of gradients that are averaged or summed over the devices"
STARTED = "an optimizer's state that the body itself starts from"
OF_ONE = "what one device has, and zeros on all others"
AVERAGED = "a mean over the devices"
NUMBER = "one number of each device's, averaged or summed over the devices"
AS_SUMMED = "a sum over the devices, as it came from psum"
DEVICES = "the number of devices"
PIECE = "rows of a sum over the devices, of which each has others"
OPAQUE = "what a function computes that is not in sight"
NORMED = "the norm of a device's own gradients"  # and where
RESIZED = "gradients that a norm of a device's own has changed"
STEPPED = "made of gradients that are reduced"
SPREAD = "a variance of what one device has"  # and where
COMMON_SQUARE = "the square of a mean over the devices"
OWN_MEAN = "a mean of what one device has"
DEVIATION = "how far each lies from such a mean"
MEAN_SPREAD = "a mean over the devices of variances"  # and where
CENTRED = "without its mean over the devices"
SQUARED = "squares of what lies apart from such a mean"
HALF = "a device's own part of a statistic"  # and where: another part of it is all devices'
MEAN_TOTAL = "a mean over the devices of a sum of all that each has"
PASSING = frozenset({AVERAGED, NUMBER, AS_SUMMED, DEVICES, PIECE, STEPPED})  # what no function of arrays gives back
OTHERS = "*"  # the entries of an object that are not listed by name
EACH = "[]"  # what an iterator gives each time
OF_VARYING_TYPE = frozenset({VARYING, GATHERED})  # equal on all devices for all that is known, and JAX does not know it


class Level(IntEnum):
    """How sure it is that a value differs between devices."""

    NO = 0
    MAY = 1
    YES = 2


class Cause:
    """What first made it impossible to tell whether a value differs; all are alike to whoever compares values.

    `name` is what is called and not followed or, with `host`, what processes may not agree on.
    """

    __slots__ = ("host", "module", "name", "node")

    def __init__(
        self, name: str = "", node: ast.AST | None = None, module: Module | None = None, *, host: bool = False
    ) -> None:
        self.name = name
        self.node = node
        self.module = module
        self.host = host

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cause)

    def __hash__(self) -> int:
        return 0


NO_CAUSE = Cause()


class Callee:
    """What a value does when it is called, as far as reading a body has seen it come about: see `callees`."""

    __slots__ = ()


@record
class Choice(Callee):
    """One of several."""

    ways: tuple[Callee, ...]


class Fields(dict[str, "AbstractValue"]):
    """The entries of a dictionary or object by name; never changed once made, so that it can be hashed."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


class AbstractValue(NamedTuple):
    """A value.

    The level of a container is that of the least equal thing in it: NO says that all of it is equal, YES that something
    in it differs. `gradient`: holds gradients that nothing has reduced; `inner`: gradients of a loss that was reduced
    before it was differentiated; `updated`: state that unreduced gradients have changed; `reduced`: comes from a
    reduction over the mapped axis. `parts` are a tuple's or list's elements; `fields` the entries of a dictionary with
    constant keys or of an object, all others being what "*" is, where that is there. `kind` "array" is one array or
    number for certain, no container; "tree" is a tree all of whose leaves are at the level; "dict" is a dictionary, of
    which iterating gives the keys. `static` is what it stands
    for before anything runs: a constant, a module, an instance of a class in sight. `callee` is what it does when
    called. `places` are where the mutable objects that can be reached from a value may have been made, `own`
    where it itself may have been, None for any of them: whatever changes an object made in one of `own` changes all
    that have that among their `places`. `host`: even what is known while tracing, a shape or a flag, may differ between
    processes.
    `marks` say where it comes from, in the words of this module's constants.
    `cause` is why it may differ, where that is known; nothing is decided by it.
    """

    level: Level = Level.NO
    gradient: bool = False
    updated: bool = False
    inner: bool = False
    parts: tuple[AbstractValue, ...] | None = None
    fields: Mapping[str, AbstractValue] | None = None
    kind: Kind = "unknown"
    reduced: bool = False
    host: bool = False
    static: Value | None = None
    callee: Callee | None = None
    places: frozenset[object] = frozenset()
    own: frozenset[object] | None = None
    marks: frozenset[str] = frozenset()
    cause: Cause = NO_CAUSE

    @property
    def origins(self) -> frozenset[object]:
        """Where the object itself may have been made."""
        return self.places if self.own is None else self.own


def replace(value: AbstractValue, **changes: Any) -> AbstractValue:
    """A value with some of its fields changed: what `_replace` does in a fraction of its time."""
    content: list[Any] = list(value)
    for name, one in changes.items():
        content[_POSITIONS[name]] = one
    return tuple.__new__(AbstractValue, content)


_POSITIONS = {name: number for number, name in enumerate(AbstractValue._fields)}
_OF_ALL = frozenset(
    {MEAN, SHARE, OF_ONE, AVERAGED, NUMBER, AS_SUMMED, DEVICES, PIECE}
)  # what is true of a result only if it is of all that it is made of
EQUAL = AbstractValue()
MAY = AbstractValue(Level.MAY)
ARRAY = AbstractValue(kind="array")


def constant(value: object) -> AbstractValue:
    """A literal; numbers count as arrays, for they are one leaf."""
    number = isinstance(value, int | float | complex)
    return AbstractValue(kind="array" if number else "unknown", static=Constant(value))


def union(values: Iterable[AbstractValue]) -> AbstractValue:
    """The value of an operation on several."""
    values = tuple(values)
    level, gradient, updated, inner, reduced, host = Level.NO, False, False, False, False, False
    marks: frozenset[str] = frozenset()
    cause = NO_CAUSE
    for value in values:
        level = max(level, value.level)
        if cause is NO_CAUSE:
            cause = value.cause
        gradient |= value.gradient
        updated |= value.updated
        inner |= value.inner
        reduced |= value.reduced
        host |= value.host
        if value.marks:
            marks |= value.marks
    for mark in _OF_ALL & marks if marks else ():
        if any(mark not in value.marks and value.level == level != Level.NO for value in values):
            marks -= {mark}
    reduced = reduced and level == Level.NO
    none = frozenset[object]()
    made = (level, gradient, updated, inner, None, None, "unknown", reduced, host, None, None, none, None, marks, cause)
    return tuple.__new__(
        AbstractValue, made
    )  # as AbstractValue(...) makes it, without its detour: there is nothing that is made more often


def join(one: AbstractValue, other: AbstractValue) -> AbstractValue:
    """What a name holds after two ways that meet."""
    if one == other:
        return one
    return AbstractValue(
        one.level if one.level == other.level else Level.MAY,
        one.gradient and other.gradient,
        one.updated or other.updated,
        one.inner and other.inner,
        _join_parts(one, other),
        _join_fields(one, other),
        one.kind if one.kind == other.kind else "unknown",
        one.reduced and other.reduced,
        one.host or other.host,
        one.static if one.static == other.static else None,
        join_callees(one, other),
        one.places | other.places,
        one.own | other.own if one.own is not None and other.own is not None else None,
        _join_marks(one.marks, other.marks),
        other.cause if one.cause is NO_CAUSE else one.cause,
    )


def _join_marks(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """What is true of both, what may be of the type of either, and what a norm may have changed: `if clip: ...`."""
    if one == other:
        return one
    clipped = {mark for mark in one ^ other if mark == RESIZED or mark.startswith(NORMED)}
    return (one & other) | clipped | (frozenset() if OF_VARYING_TYPE.isdisjoint(one | other) else {VARYING})


def _join_parts(one: AbstractValue, other: AbstractValue) -> tuple[AbstractValue, ...] | None:
    if one.parts is None or other.parts is None or len(one.parts) != len(other.parts):
        return None
    return tuple(join(a, b) for a, b in zip(one.parts, other.parts, strict=True))


def _join_fields(one: AbstractValue, other: AbstractValue) -> Fields | None:
    if one.fields is None or other.fields is None:
        known = one.fields or other.fields
        if not known or not (_may_be_object(one) and _may_be_object(other)):
            return None
        return Fields({name: join(field_of(one, name), field_of(other, name)) for name in (*known, OTHERS)})
    names = [*one.fields, *(name for name in other.fields if name not in one.fields)]
    return Fields({name: join(field_of(one, name), field_of(other, name)) for name in names})


def _may_be_object(value: AbstractValue) -> bool:
    """Whether a value may have fields that are not known."""
    return value.parts is None and value.kind == "unknown" and value.callee is None and value.static is None


def join_callees(one: AbstractValue, other: AbstractValue) -> Callee | None:
    """Either of two functions; nothing where one of them is not known."""
    if one.callee == other.callee:
        return one.callee
    if one.callee is None or other.callee is None:
        return None
    ways = dict.fromkeys((*_ways(one.callee), *_ways(other.callee)))
    return Choice(tuple(ways)) if len(ways) <= MOST_CHOICES else None


def _ways(callee: Callee) -> tuple[Callee, ...]:
    return callee.ways if isinstance(callee, Choice) else (callee,)


def join_all(values: Sequence[AbstractValue]) -> AbstractValue:
    """What several ways give; EQUAL for none."""
    result = values[0] if values else EQUAL
    for value in values[1:]:
        result = join(result, value)
    return result


def tuple_of(parts: Sequence[AbstractValue]) -> AbstractValue:
    """A tuple."""
    places = frozenset[object]().union(*(p.places for p in parts))
    return replace(union(parts), parts=tuple(parts), places=places, own=frozenset())


def list_of(parts: Sequence[AbstractValue]) -> AbstractValue:
    """A tuple or a list, for whoever knows no place where it was made."""
    return replace(tuple_of(parts), own=None)


def dict_of(fields: Mapping[str, AbstractValue]) -> AbstractValue:
    """A dictionary with constant keys, or an object."""
    places = frozenset[object]().union(*(p.places for p in fields.values()))
    return replace(union(fields.values()), fields=Fields(fields), places=places)


def dictionary(fields: Mapping[str, AbstractValue]) -> AbstractValue:
    """A dictionary, for certain."""
    return replace(dict_of(fields), kind="dict")


def whole(value: AbstractValue) -> AbstractValue:
    """Something in a value of which nothing else is known."""
    kind: Kind = value.kind if value.kind == "array" else "tree" if value.kind == "tree" else "unknown"
    level = inside(value)
    made = (
        level, value.gradient, value.updated, value.inner, None, None, kind, value.reduced, value.host, None, None,
        value.places, None, value.marks, value.cause,
    )  # fmt: skip
    return tuple.__new__(AbstractValue, made)  # as in `union`


def inside(value: AbstractValue) -> Level:
    """The level of anything in a value: sure only where all that it holds agrees."""
    if value.parts or value.fields:
        levels = {inside(one) for one in (*(value.parts or ()), *(value.fields or {}).values())}
        return levels.pop() if len(levels) == 1 else Level.MAY
    return Level.MAY if value.level == Level.YES and value.kind == "unknown" else value.level


def held_in(values: Iterable[AbstractValue]) -> Level:
    """The level of a function that holds some values, for whoever is given it and may call it."""
    return min(max((inside(value) for value in values), default=Level.NO), Level.MAY)


def field_of(value: AbstractValue, name: str) -> AbstractValue:
    """An entry by its name."""
    if value.fields is not None:
        found = value.fields.get(name, value.fields.get(OTHERS))
        if found is not None:
            return found
    return whole(value)


def certainly(value: AbstractValue) -> AbstractValue:
    """A tree all of whose leaves are at the value's level, as far as can be told."""
    return replace(value, kind="array" if value.kind == "array" else "tree")


def part_at(value: AbstractValue, index: int) -> AbstractValue:
    """What stands at an index of a value; any of its elements where its parts are not known."""
    return value.parts[index] if value.parts is not None and index < len(value.parts) else element(value)


def leaves_of(value: AbstractValue) -> Iterator[AbstractValue]:
    """The values that a tree holds."""
    held = [*(value.parts or ()), *(value.fields or {}).values()]
    for one in held:
        yield from leaves_of(one)
    if not held:
        yield value


def element(value: AbstractValue) -> AbstractValue:
    """What iterating gives: of an array, an array; of a dictionary, its keys; of an object, what it holds."""
    if value.parts:
        return join_all(value.parts)
    if value.fields is not None:
        each = value.fields.get(EACH)
        if each is not None:
            return each
        return AbstractValue(host=value.host) if value.kind == "dict" else whole(value)
    return whole(value)


def made_at(value: AbstractValue, place: object) -> AbstractValue:
    """A new mutable object, made at a place in the program."""
    return replace(value, places=value.places | {place}, own=frozenset([place]))


def each(one: AbstractValue, places: frozenset[object] = frozenset()) -> AbstractValue:
    """An iterator that gives `one` every time."""
    return replace(dict_of({EACH: one}), places=one.places | places)


def with_fields(value: AbstractValue, changed: Mapping[str, AbstractValue]) -> AbstractValue:
    """An object with some of its entries replaced; what is known of the others stays."""
    before = value.fields if value.fields is not None else {OTHERS: whole(value)}
    made = dict_of({**before, **changed})
    kind: Kind = "dict" if value.kind == "dict" else "unknown"
    return replace(made, static=value.static, kind=kind, places=made.places | value.places, own=value.own)


def rebuilt(value: AbstractValue, place: object) -> AbstractValue:
    """A tree that JAX took apart and put together again: none of its containers is one that went in, nor another's.

    An object that is no tree comes out as it went in, as a function does.
    """
    if value.kind == "array" or value.callee is not None or isinstance(value.static, Instance):
        return value
    parts = None if value.parts is None else tuple(rebuilt(one, (place, i)) for i, one in enumerate(value.parts))
    fields = None if value.fields is None else Fields({n: rebuilt(v, (place, n)) for n, v in value.fields.items()})
    inner = (one.places for one in (*(parts or ()), *(fields or {}).values()))
    own = frozenset([place])
    return replace(value, parts=parts, fields=fields, places=own.union(*inner), own=own)


def identified(value: AbstractValue, place: object) -> AbstractValue:
    """The result of a call: each object in it that may be changed later has a place, here if it had none."""
    if value.kind == "array" or value.callee is not None or value.static is not None:
        return value
    if value.parts is None and value.fields is None:
        return value if value.places else made_at(value, place)
    parts = None if value.parts is None else tuple(identified(p, (place, i)) for i, p in enumerate(value.parts))
    fields = None if value.fields is None else Fields({n: identified(v, (place, n)) for n, v in value.fields.items()})
    inner = value.places.union(*(one.places for one in (*(parts or ()), *(fields or {}).values())))
    known = replace(value, parts=parts, fields=fields, places=inner)
    return known if value.places or value.own is not None else made_at(known, place)  # own: of a tuple, nowhere


def unsure(value: AbstractValue, cause: Cause = NO_CAUSE) -> AbstractValue:
    """What an unknown function makes of a value."""
    return AbstractValue(
        Level.MAY,
        value.gradient,
        value.updated,
        value.inner,
        host=True,
        places=value.places,
        marks=value.marks,
        cause=cause if value.cause is NO_CAUSE else value.cause,
    )


def doubtful(value: AbstractValue, cause: Cause = NO_CAUSE) -> AbstractValue:
    """The same value, if processes may come by it on different ways."""

    def doubt(one: AbstractValue) -> AbstractValue:
        known = cause if one.cause is NO_CAUSE else one.cause
        return replace(one, level=Level.MAY, reduced=False, host=True, static=None, cause=known)

    return mapped(value, doubt)


def kept_keys(value: AbstractValue) -> frozenset[str]:
    """The marks that say of which parameters a key is made."""
    return frozenset(mark for mark in value.marks if mark.startswith(KEPT)) if value.marks else frozenset()


def renewed(key: AbstractValue, others: Iterable[AbstractValue]) -> AbstractValue:
    """A key into which something else went: of what the map is given, as the number of a step, another is made."""
    kept = kept_keys(key)
    if kept and any(GIVEN in one.marks and not kept_keys(one) for one in others):
        return replace(key, marks=key.marks - kept)
    return key


def is_first_axis(axis: AbstractValue | None) -> bool:
    """Whether an argument names the first axis and no other."""
    return axis is not None and axis.static in (Constant(0), Constant((0,)))


def row_of_block(value: AbstractValue) -> AbstractValue:
    """The one row of a block: of arrays that are split into rows, devices may hold equal ones, as under pmap.

    Of what is data by its name they do not.
    """
    given = GIVEN in value.marks and value.level == Level.YES and DATA not in value.marks
    return replace(value, level=Level.MAY) if given else value


def differs(value: AbstractValue) -> bool:
    """Whether devices hold different values for certain, or as surely as their gradients, or their data, differ."""
    return value.level == Level.YES or (value.level == Level.MAY and not value.marks.isdisjoint((UNREDUCED, DATA)))


def mapped(value: AbstractValue, change: Callable[[AbstractValue], AbstractValue]) -> AbstractValue:
    """A value with it and everything in it changed."""
    if value.parts is None and value.fields is None:
        return change(value)
    parts = None if value.parts is None else tuple(mapped(p, change) for p in value.parts)
    fields = None if value.fields is None else Fields({n: mapped(v, change) for n, v in value.fields.items()})
    return change(replace(value, parts=parts, fields=fields))


def shallow(value: AbstractValue, depth: int = 3) -> AbstractValue:
    """A value with what it is made of forgotten below a depth, so that loops come to an end."""
    if depth == 0:
        return replace(value, parts=None, fields=None, callee=None)
    if value.parts is None and value.fields is None:
        return value
    parts = None if value.parts is None else tuple(shallow(p, depth - 1) for p in value.parts)
    fields = None if value.fields is None else Fields({n: shallow(v, depth - 1) for n, v in value.fields.items()})
    return replace(value, parts=parts, fields=fields)
