"""What host code holds, as far as stacked arrays are concerned.

Values that flow into one another share a `Group` (a `group` in names): one representation for all of them. A value
without one is `PLAIN`: it is the same in the original program and in the migrated one, whatever it is. The one thing
that must never happen is that a value with a group reaches a place that nobody looked at, so what the interpreter does
not understand *blocks* the groups that it touches, by a `Blocker`: their arrays stay stacked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal, NamedTuple, TypeAlias

from jaxmigrate.flow.layout.causes import Reason
from jaxmigrate.flow.variance import AbstractValue
from jaxmigrate.flow.variance.lattice import ARRAY, OTHERS, Fields
from jaxmigrate.program.modules import Module
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Class, Function


class Remedy(NamedTuple):
    """What sort of advice a reason calls for, and the name that the advice is about, where it has one.

    "reads": a function may only read its arguments; "calls": other files may call this; "equal": an output may be
    replicated; "made": how an array is made can be declared; "mixed": the same of what it is mixed with; "replaced":
    a function is monkeypatched; "apart": a file may have no part in the program; "option": an argument of pmap can be
    left out or written otherwise; "processes": the program may never run as several.
    """

    kind: Literal["reads", "calls", "equal", "made", "mixed", "replaced", "apart", "option", "processes"]
    name: str = ""


READS = Remedy("reads")
CALLS = Remedy("calls")
MADE = Remedy("made")
MIXED = Remedy("mixed")
PROCESSES = Remedy("processes")


@dataclass(frozen=True, slots=True)
class Blocker:
    """Why arrays stay stacked, where that shows, what may be behind it, and what sort of advice it calls for."""

    reason: Reason
    module: Module
    node: ast.AST
    behind: str = ""
    remedy: Remedy | None = None


Blockers: TypeAlias = dict[tuple[Reason, ast.AST], Blocker]


def describe(blocker: Blocker, module: Module) -> str:
    """A blocker in words, with its place."""
    if isinstance(blocker.node, ast.Module):
        return blocker.reason.text
    return f"{placed(blocker.reason.text, blocker.node, blocker.module, module)}{blocker.behind}"


def placed(text: str, node: ast.AST, at: Module, module: Module) -> str:
    """A text with the line of a node, and with its file where a reader of `module` needs it."""
    line = getattr(node, "lineno", 0)
    return f"{text} (line {line})" if at is module else f"{text} ({at.path.name}:{line})"


def told(why: Reason | Blocker, module: Module) -> Reason:
    """What keeps arrays stacked, with its place, as read in a module."""
    return why.reason.worded(describe(why, module)) if isinstance(why, Blocker) else why


class Group:
    """One representation, shared by all values that flow into one another (a union-find node).

    Where the values are objects with fields, as a training state is, each field that the program names has a group of
    its own, which says more than the object's; `method` is how such an object is copied with other fields. Fields
    of fields have none, and what treats an object as a mere tree of arrays makes it `flat`: one group for all of it.
    `has_own_order`: some of its trees may be dictionaries whose keys are not in JAX's order.
    """

    __slots__ = ("_parent", "blockers", "fields", "flat", "has_own_order", "key", "leans", "methods")

    def __init__(self, key: object, flat: bool = False) -> None:
        self.key = key
        self.flat = flat
        self._parent: Group | None = None
        self.blockers: Blockers = {}
        self.leans: dict[Assumption, None] = {}  # what its layout leans on, if it is a global one
        self.fields: dict[str, Group] = {}
        self.methods: set[str] = set()
        self.has_own_order = False

    def find(self) -> Group:
        """The group that stands for its whole group."""
        root = self
        while root._parent is not None:
            root = root._parent
        while self._parent is not None and self._parent is not root:
            self._parent, self = root, self._parent  # noqa: PLW0642 - path compression
        return root

    def unify(self, other: Group) -> bool:
        """Makes one group of two, field by field; says whether they were two."""
        one, two = self.find(), other.find()
        if one is two:
            return False
        two._parent = one  # noqa: SLF001 - the same class
        one.blockers |= two.blockers
        one.leans |= two.leans
        one.methods |= two.methods
        one.has_own_order |= two.has_own_order
        flat = one.flat or two.flat
        for name, group in two.fields.items():
            one.field(name).unify(group)
        if flat:
            one.flatten()
        return True

    def field(self, name: str) -> Group:
        """The group of a field of the objects in the group."""
        root = self.find()
        if root.flat:
            return root
        if name not in root.fields:
            root.fields[name] = Group(("field", root.key, name), flat=True)
        return root.fields[name]

    def flatten(self) -> bool:
        """Gives all fields one representation; says whether they had several."""
        root = self.find()
        groups, root.fields, root.flat = [*root.fields.values()], {}, True
        for group in groups:
            root.find().unify(group)
        return bool(groups)

    def block(self, blocker: Blocker) -> bool:
        """Keeps the group stacked; says whether that is news."""
        blockers = self.find().blockers
        if (blocker.reason, blocker.node) in blockers:
            return False
        blockers[blocker.reason, blocker.node] = blocker
        return True


class _Known(NamedTuple):
    """What has been said of a group by a certain time; its parent is the group that it was joined to."""

    parent: Group | None
    flat: bool
    fields: dict[str, Group]
    blockers: Blockers
    methods: set[str]
    leans: dict[Assumption, None]
    has_own_order: bool


class Groups:
    """How groups were grouped, so that several ways to go on can be tried."""

    def __init__(self, groups: Iterable[Group]) -> None:
        self._known: dict[Group, _Known] = {}
        pending = [*groups]
        while pending:
            group = pending.pop()
            if group not in self._known:
                parent = group._parent  # noqa: SLF001 - the same subject
                own = {**group.fields}, {**group.blockers}, {*group.methods}, {**group.leans}, group.has_own_order
                self._known[group] = _Known(parent, group.flat, *own)
                pending += [*group.fields.values(), *([parent] if parent is not None else [])]

    def restore(self) -> None:
        """Undoes what has been said of the groups since."""
        for group, known in self._known.items():
            group._parent, group.flat = known.parent, known.flat  # noqa: SLF001
            group.fields, group.blockers, group.methods = {**known.fields}, {**known.blockers}, {*known.methods}
            group.leans, group.has_own_order = {**known.leans}, known.has_own_order


@dataclass(slots=True, eq=False)
class Box:
    """The contents of a list or dictionary that the program fills: one for each place that makes one.

    `is_results`: a map gives it, and nothing is put into it. `tree` is the group of the trees of arrays that stand in
    its place elsewhere: all that it holds is of that group.
    """

    element: Abstract
    fields: dict[str, Abstract] = field(default_factory=dict)
    blocked: Blocker | None = None
    is_results: bool = False
    tree: Group | None = None


@dataclass(frozen=True, slots=True)
class Plain:
    """Anything that is the same in both programs; `cls` is the class of the project that it is a tree of arrays of.

    A `number` that is written out may stand where arrays do later, as in `total = 0`: what takes these apart raises.
    `text` is the string that it is, as far as a loop over keys says it.
    """

    cls: Class | None = None
    number: bool = False
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Nothing:
    """No value yet, or, if `none`, Python's None: it takes part in nothing."""

    none: bool = False


class Numpys(IntEnum):
    """Whether host code may find an array of NumPy's."""

    NO = 0
    FETCHED = 1
    MADE = 2


@dataclass(frozen=True, slots=True, eq=False)
class Ref:
    """A tree of arrays that all have the representation of `group`; `shape` is what is known of the tree.

    `leaf` says that it is one array for certain, `numpys` that its arrays may be NumPy's: as they were made, and no
    longer once they are global, or because the program fetched them, which both programs do.
    """

    group: Group
    shape: AbstractValue | None = None
    leaf: bool = False
    numpys: Numpys = Numpys.NO

    @property
    def is_array(self) -> bool:
        """Whether this is certainly one array, and not a container."""
        return self.leaf or (self.shape is not None and self.shape.kind == "array")

    def part(self, shape: AbstractValue | None = None, *, group: Group | None = None, leaf: bool = False) -> Ref:
        """Some of these arrays."""
        return Ref(group or self.group, shape, leaf, self.numpys)


@dataclass(frozen=True, slots=True)
class Tup:
    """A tuple; `names` are those of its parts where it is a named one."""

    parts: tuple[Abstract, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Seq:
    """A list or an iterator, each of whose elements is what the box says."""

    box: Box


@dataclass(frozen=True, slots=True)
class Dct:
    """A dictionary with constant string keys."""

    box: Box


@dataclass(frozen=True, slots=True)
class Obj:
    """An object of a class of the project; its attributes are kept by class, not by object."""

    cls: Class


@dataclass(frozen=True, slots=True)
class Site:
    """A mapped function, by the call or decorator that maps it."""

    node: ast.expr


@dataclass(frozen=True, slots=True)
class MethodSite:
    """A mapped method of an object, by the decorator that maps it."""

    node: ast.expr
    cls: Class


@dataclass(frozen=True, slots=True)
class Super:
    """What `super()` gives in a method of a class."""

    cls: Class


@dataclass(frozen=True, slots=True)
class Ext:
    """A name outside the project."""

    name: str


@dataclass(frozen=True, slots=True)
class Mod:
    """A module of the project."""

    module: Module


@dataclass(frozen=True, slots=True)
class Bound:
    """`functools.partial` of something, by the call that makes it; its arguments are kept by the interpreter."""

    node: ast.Call


@dataclass(frozen=True, slots=True)
class Padded:
    """What flax's `pad_shard_unpad` makes of a function, by the call that makes it; the interpreter keeps which."""

    node: ast.Call


@dataclass(frozen=True, slots=True)
class Stage:
    """A step on the way from a mapped function to its compiled self: `f.lower`, `f.lower(x)`, `f.lower(x).compile`."""

    node: ast.expr
    name: Literal["lower", "lowered", "compile"]


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a container or tree of arrays: the value that it belongs to is kept by the interpreter."""

    node: ast.Attribute


@dataclass(frozen=True, slots=True)
class Unknown:
    """What is not in sight, where a name may also hold something that is."""


Item: TypeAlias = (
    Site | MethodSite | Super | Ext | Function | Class | Mod | Bound | Padded | Stage | Method | Obj | Unknown
)


@dataclass(frozen=True, slots=True)
class Func:
    """Something to call (or a module, or one of several objects): all that it can be."""

    items: frozenset[Item]

    def in_order(self) -> list[Item]:
        """The items in the order of the source, which is the same in each run."""
        return sorted(self.items, key=_place) if len(self.items) > 1 else [*self.items]


@dataclass(frozen=True, slots=True)
class Mixed:
    """A local name after ways that leave different kinds of values in it: harmless unless it is read."""

    values: tuple[Abstract, ...]


Abstract: TypeAlias = Plain | Nothing | Ref | Tup | Seq | Dct | Obj | Func | Mixed
OF_ARRAYS = AbstractValue(fields=Fields({OTHERS: ARRAY}))  # a dictionary of nothing but arrays
CONTAINER = AbstractValue(fields=Fields({OTHERS: AbstractValue()}))  # a tuple, list or dictionary in some place
PLAIN, NOTHING, NONE = Plain(), Nothing(), Nothing(none=True)
NUMBER = Plain(number=True)
UNKNOWN = Unknown()


def _place(item: Item) -> tuple[str, str, int, int, str]:
    """Where an item stands: its kind, file, line and column, and its name or text."""
    owner = item.cls if isinstance(item, Obj | Super) else item
    module, node = getattr(owner, "module", None), getattr(owner, "node", None)
    path = module.path.as_posix() if module is not None else ""
    if node is None:
        return type(item).__name__, path, 0, 0, str(getattr(owner, "name", ""))
    return type(item).__name__, path, node.lineno, node.col_offset, "" if path else ast.dump(node)


def func(item: Item) -> Func:
    """One thing to call."""
    return Func(frozenset({item}))


def entry_of(shape: AbstractValue | None, name: str) -> AbstractValue | None:
    """What is known of an entry or a field of something of which this is known."""
    fields = shape.fields if shape is not None else None
    return fields.get(name, fields.get(OTHERS)) if fields is not None else None


def groups_in(value: Abstract) -> Iterator[Group]:
    """The groups of every array that a value holds, without those of objects' attributes."""
    return (ref.group for ref in refs_in(value))


def numpys_in(values: Iterable[Abstract]) -> Numpys:
    """Whether any of the arrays in some values may be NumPy's."""
    return max((ref.numpys for value in values for ref in refs_in(value)), default=Numpys.NO)


def refs_in(value: Abstract, seen: set[int] | None = None) -> Iterator[Ref]:
    """The trees of arrays that a value holds, without those of objects' attributes."""
    seen = set() if seen is None else seen
    match value:
        case Ref():
            yield value
        case Tup(parts=parts) | Mixed(values=parts):
            for part in parts:
                yield from refs_in(part, seen)
        case Seq(box=box) | Dct(box=box):
            if id(box) not in seen:
                seen.add(id(box))
                for inner in (box.element, *box.fields.values()):
                    yield from refs_in(inner, seen)


def boxes_in(value: Abstract, seen: set[int] | None = None) -> Iterator[Box]:
    """The boxes of a value, and those of what is in them."""
    seen = set() if seen is None else seen
    match value:
        case Tup(parts=parts) | Mixed(values=parts):
            for part in parts:
                yield from boxes_in(part, seen)
        case Seq(box=box) | Dct(box=box):
            if id(box) not in seen:
                seen.add(id(box))
                yield box
                for inner in (box.element, *box.fields.values()):
                    yield from boxes_in(inner, seen)


def is_empty(value: Abstract, above: frozenset[int] = frozenset()) -> bool:
    """Whether a container has nothing in it yet; `above` are the boxes that it lies in, as in `d = {"last": d}`."""
    match value:
        case Seq(box=box) | Dct(box=box):
            inside = above | {id(box)}
            parts = (box.element, *box.fields.values()) if id(box) not in above else ()
            return all(isinstance(part, Nothing) or is_empty(part, inside) for part in parts)
        case Tup(parts=parts):
            return bool(parts) and all(isinstance(part, Nothing) or is_empty(part, above) for part in parts)
    return False


def has_own_order(value: Abstract, above: frozenset[int] = frozenset()) -> bool:
    """Whether a value holds a dictionary of the program's whose keys may not be in the order that JAX gives them."""
    match value:
        case Seq(box=box) | Dct(box=box) if id(box) in above:
            return False
        case Dct(box=box):
            names, inside = [*box.fields], above | {id(box)}
            is_sorted = names == sorted(names) and isinstance(box.element, Nothing)
            return not is_sorted or any(has_own_order(inner, inside) for inner in box.fields.values())
        case Tup(parts=parts):
            return any(has_own_order(part, above) for part in parts)
        case Seq(box=box):
            return has_own_order(box.element, above | {id(box)})
    return False


def is_tracked(value: Abstract) -> bool:
    """Whether a value holds arrays whose representation may change."""
    if isinstance(value, Plain | Func | Obj | Nothing):
        return False
    return next(groups_in(value), None) is not None


def leaves_plain(value: Abstract, seen: set[int] | None = None) -> bool:
    """Whether some part of a value is an array that no group stands for."""
    seen = set() if seen is None else seen
    match value:
        case Plain() | Obj() | Func() | Mixed():
            return True
        case Tup(parts=parts):
            return any(leaves_plain(part, seen) for part in parts)
        case Seq(box=box) | Dct(box=box):
            if id(box) in seen:
                return False
            seen.add(id(box))
            return any(leaves_plain(inner, seen) for inner in (box.element, *box.fields.values()))
    return False


def same(one: Abstract, other: Abstract) -> bool:
    """Whether two values are the same as far as the fixpoint is concerned."""
    if isinstance(one, Ref) and isinstance(other, Ref):
        known = (one.shape, one.leaf, one.numpys) == (other.shape, other.leaf, other.numpys)
        return known and one.group.find() is other.group.find()
    if isinstance(one, Tup) and isinstance(other, Tup):
        return (
            len(one.parts) == len(other.parts) and one.names == other.names and all(map(same, one.parts, other.parts))
        )
    if isinstance(one, Seq | Dct) and type(one) is type(other):
        return one.box is other.box
    if isinstance(one, Mixed) and isinstance(other, Mixed):
        return len(one.values) == len(other.values) and all(map(same, one.values, other.values))
    return one == other


def unify_all(groups: Iterable[Group]) -> Group | None:
    """One group of all groups; None where there are none."""
    first: Group | None = None
    for group in groups:
        if first is None:
            first = group
        else:
            first.unify(group)
    return first
