"""What the interpreter of host code remembers: variables, groups, what is blocked, and the operations that it saw."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from jaxmigrate.flow.layout.causes import Reason, Stacked
from jaxmigrate.flow.layout.functions import is_generator
from jaxmigrate.flow.layout.idioms import Idioms
from jaxmigrate.flow.layout.model import Devices, Env, Key
from jaxmigrate.flow.layout.stores import Assumed, Blockers, Bodies, Lending, Looks, Maps, Operations, Unit, Wrappers
from jaxmigrate.flow.layout.values import (
    CONTAINER,
    MIXED,
    NOTHING,
    NUMBER,
    PLAIN,
    UNKNOWN,
    Abstract,
    Blocker,
    Bound,
    Box,
    Dct,
    Func,
    Group,
    Item,
    Method,
    MethodSite,
    Mixed,
    Mod,
    Nothing,
    Obj,
    Padded,
    Plain,
    Ref,
    Remedy,
    Seq,
    Site,
    Stage,
    Super,
    Tup,
    boxes_in,
    groups_in,
    has_own_order,
    is_empty,
    is_tracked,
    leaves_plain,
    numpys_in,
    same,
    unify_all,
)
from jaxmigrate.flow.variance import AbstractValue
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Class, Function

NOT_ALIKE = Stacked.MIXED.reason("is mixed with a value that might not be stacked")
OF_CLASSES = frozenset({"attribute", "class attribute"})  # what variables are, by the family of their object's class


class State:
    """Everything that one run over the host code builds up, kept from pass to pass until nothing changes."""

    def __init__(self, resolver: Resolver, sites: Mapping[ast.expr, MappedSite], idioms: Idioms) -> None:
        self.resolver = resolver
        self.trust = idioms.trust
        self.sites = sites
        self.idioms = idioms
        self.operations = Operations()
        self.maps = Maps()
        self.wrappers = Wrappers()
        self.lending = Lending()
        self.blockers = Blockers()
        self.assumed = Assumed()
        self.bodies = Bodies()
        self.looks = Looks()
        self.kept: dict[object, object] = {}  # by `once`, which alone looks into it
        self.variables: dict[Key, Abstract] = {}
        self.attributes: dict[object, set[Key]] = {}  # of these, the attributes of a family of classes
        self.groups: dict[Key, Group] = {}
        self.boxes: dict[Key, Box] = {}
        self.devices: Devices | None = None
        self.leans = False  # whether anything was taken for granted
        self.changed = False
        self.touches = 0  # how often anything changed that is read by a key
        self.reads: set[object] = set()  # by the body that runs
        self.running: Unit | None = None
        self._roots: dict[ast.ClassDef, ast.ClassDef] = {}
        self._families: dict[ast.ClassDef, ast.ClassDef] = {}

    def touch(self, key: object) -> None:
        """Says that what a key stands for has changed, so that whoever read it runs again."""
        self.changed = True
        self.touches += 1
        running, readers = self.running, self.bodies.readers.pop(key, None)
        if readers is not None:
            self.bodies.stale |= readers - {running}
        if running is not None and key in self.reads:
            self.bodies.stale.add(running)

    # Groups and boxes

    def joined_group(self, *key: object) -> Group:
        """The group that a place in the program makes, the same one in every pass."""
        if key not in self.groups:
            self.groups[key] = Group(key)
            self.changed = True
        return self.groups[key]

    def box(self, *key: object) -> Box:
        """The box of the list or dictionary that a place in the program makes."""
        if key not in self.boxes:
            self.boxes[key] = Box(NOTHING)
        return self.boxes[key]

    def fill(self, box: Box, value: Abstract, node: ast.AST, module: Module, field: str | None = None) -> None:
        """Puts a value into a box."""
        before = box.element if field is None else box.fields.get(field, NOTHING)
        after = self.join(before, value, node, module)
        if box.blocked is not None:
            self.block(after, box.blocked)
        if box.tree is not None:
            self._keep_to_tree(box.tree, after, node, module)
        if not same(before, after):
            self.touch(("box", id(box)))
        if field is None:
            box.element = after
        else:
            box.fields[field] = after

    def _keep_to_tree(self, tree: Group, value: Abstract, node: ast.AST, module: Module) -> None:
        """What is put into a container that is a tree of arrays elsewhere is one of them, else all stay as they are."""
        group = self.group([value, Ref(tree)])
        if leaves_plain(value):
            self.block_all([value, Ref(tree)], NOT_ALIKE, node, module, MIXED)
        self._stand_for([value], group or tree)

    def _stand_for(self, values: Iterable[Abstract], tree: Group) -> None:
        """Notes that the containers in some values are a tree of arrays elsewhere."""
        root = tree.find()
        if any(map(has_own_order, values)) and not root.has_own_order:
            root.has_own_order = self.changed = True
        for box in (box for value in values for box in boxes_in(value)):
            box.tree = root
            if box.blocked is not None:
                self.changed |= root.block(box.blocked)

    # Variables

    def load(self, key: Key) -> Abstract:
        """What a variable that several functions see can hold."""
        self.reads.add(key)
        return self.variables.get(key, NOTHING)

    def store(self, key: Key, value: Abstract, node: ast.AST, module: Module) -> None:
        """Adds to what such a variable can hold; unlike values of a name are kept apart, as in `_meet`."""
        before = self.variables.get(key, NOTHING)
        meet = self._meet if key[0] == "variable" else self.join
        after = meet(before, value, node, module)
        if not same(before, after):
            self.variables[key] = after
            self.touch(key)
            if key[0] == "attribute":
                self.attributes.setdefault(key[1], set()).add(key)

    def set_attribute(
        self, cls: Class, name: str, value: Abstract, node: ast.AST, module: Module, *outcome: bool
    ) -> None:
        """Adds to what an attribute of the objects of a class can hold, which stays as it is where they do.

        What hangs on the outcome of a flag that such an object keeps is kept apart.
        """
        root = self.root(cls)
        self.store(("attribute", root, name, *outcome), value, node, module)
        if root in self.blockers.blocked_classes:
            self.block(value, self.blockers.blocked_classes[root])

    # Blockers

    def block(self, value: Abstract, blocker: Blocker, seen: set[int] | None = None) -> None:
        """Keeps everything in a value as it is in the original program."""
        seen = set() if seen is None else seen
        match value:
            case Ref(group=group):
                self.changed |= group.block(blocker)
            case Tup(parts=parts):
                for part in parts:
                    self.block(part, blocker, seen)
            case Seq(box=box) | Dct(box=box):
                if id(box) not in seen:
                    seen.add(id(box))
                    box.blocked = box.blocked or blocker
                    tree = [Ref(box.tree)] if box.tree is not None else []
                    for inner in (box.element, *box.fields.values(), *tree):
                        self.block(inner, blocker, seen)
            case Obj(cls=cls):
                self.block_class(cls, blocker)
            case Func(items=items):
                for item in items:
                    self.escape(item, blocker)
            case Mixed(values=values):
                for one in values:
                    self.block(one, blocker, seen)

    def block_class(self, cls: Class, blocker: Blocker) -> None:
        """Keeps the attributes of all objects of a class as they are."""
        root = self.root(cls)
        if root not in self.blockers.blocked_classes:
            self.blockers.blocked_classes[root] = blocker
            self.let_go_of_implicit(root, blocker)
            self.touch(("blocked class", root))
            for key in list(self.attributes.get(root, ())):
                self.block(self.variables[key], blocker)

    def let_go_of_implicit(self, root: ast.ClassDef, blocker: Blocker) -> None:
        """What Python calls of the objects of a family of classes it may call where nobody sees it."""
        for function, cls in [*self.bodies.implicit.items()]:
            if self.root(cls) is root:
                self.call_unseen(function, blocker)

    def root(self, cls: Class) -> ast.ClassDef:
        """The class that stands for its whole family: one for all the bases of any class in sight."""
        if cls.node not in self._roots:
            self._roots[cls.node] = self.resolver.lineage(cls)[-1].node
        root = self._roots[cls.node]
        while root in self._families:
            root = self._families[root]
        return root

    def join_families(self, module: Module) -> None:
        """Makes one family of the bases of each class of a module: its objects have what any of them gives `self`."""
        for node in module.table.own_scope:
            if isinstance(node, ast.ClassDef):
                cls = Class(module, node)
                for base in self.resolver.lineage(cls):
                    self._join_family(cls, base)

    def _join_family(self, cls: Class, base: Class) -> None:
        root, other = self.root(cls), self.root(base)
        if root is other:
            return
        self._families[other] = root
        self.attributes.pop(other, None)
        flags = self.bodies.object_flags
        if (root in flags or other in flags) and flags.get(root) != flags.pop(other, None):
            flags[root] = None  # it tells nothing of the other's objects
            self.touch(("object flag", root))
            self.touch(("object flag", other))
        for key in [k for k in self.variables if k[0] in OF_CLASSES and k[1] is other]:
            self.touch(key)
            self.store((key[0], root, *key[2:]), self.variables.pop(key), cls.node, cls.module)
        passed = self.blockers.passed_on.get(other) or self.blockers.passed_on.get(root)
        if passed is not None:
            self.blockers.passed_on[root] = passed
            self.let_go_of_implicit(root, passed)
        blocker = self.blockers.blocked_classes.get(other) or self.blockers.blocked_classes.pop(root, None)
        if blocker is not None:
            self.block_class(cls, blocker)

    def escape(self, item: object, blocker: Blocker) -> None:
        """Something callable goes where its calls cannot be seen."""
        if item in self.blockers.gone:
            return
        if isinstance(item, Method):  # what it is a method of may come to be more
            receiver = self.looks.receivers.get(item.node, NOTHING)
            if self.blockers.let_go.get(item) is not receiver:
                self.blockers.let_go[item] = receiver
                self.block(receiver, blocker)
            return
        self.blockers.gone.add(item)
        match item:
            case Site(node=node) | Stage(node=node):
                if node not in self.blockers.escaped:
                    self.blockers.escaped[node] = blocker
                    self.changed = True
            case MethodSite(node=node, cls=cls):
                self.escape(Site(node), blocker)
                self.block_class(cls, blocker)
            case Function():
                self.call_unseen(item, blocker)
            case Class() | Obj() | Super():
                self.block_class(item if isinstance(item, Class) else item.cls, blocker)
            case Mod(module=module):
                self.blockers.modules.setdefault(module, blocker)
                self.changed = True
            case Bound() | Padded():
                for value in self.wrapped(item):
                    self.block(value, blocker)

    def wrapped(self, item: Bound | Padded) -> list[Abstract]:
        """What a partial, or flax's `pad_shard_unpad`, holds."""
        if isinstance(item, Padded):
            return [self.wrappers.padded[item.node]] if item.node in self.wrappers.padded else []
        if item.node not in self.wrappers.bound:
            return []
        callee, given = self.wrappers.bound[item.node]
        return [callee, *given.everything()]

    def note_record(self, node: ast.expr, cls: Class | None) -> None:
        """What a call makes is an object of a class; None where it may be something else."""
        if self.maps.records.get(node, cls) != cls:
            cls = None
        if node not in self.maps.records or self.maps.records[node] != cls:
            self.maps.records[node] = cls
            self.touch("records")

    def note_bound(self, value: Abstract) -> None:
        """An attribute of an object: of a mapped function that its class holds, the object is the first argument."""
        for item in value.items if isinstance(value, Func) else ():
            if isinstance(item, Site) and item.node not in self.maps.bound_sites:
                self.maps.bound_sites.add(item.node)
                self.touch(("site", item.node))

    def call_unseen(
        self, function: Function, blocker: Blocker | None, handed: Mapping[str, Abstract] | None = None
    ) -> None:
        """A function that anything may call with anything that is the same in both programs.

        `blocker` is for what it returns, if anybody may get that; `handed` are parameters of which more is known.
        """
        self.reach(function)
        unseen = ("unseen", function.node)
        if unseen not in self.variables:
            self.variables[unseen] = PLAIN
            self.touch(unseen)
            spec = function.node.args
            skip = function.receiver is not None
            every = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *filter(None, (spec.vararg, spec.kwarg))]
            for index, parameter in enumerate(every):
                if not (skip and index == 0):
                    key = ("parameter", function.node, parameter.arg, None)
                    self.store(key, (handed or {}).get(parameter.arg, PLAIN), function.node, function.module)
        self.bodies.contexts.setdefault(function.node, {})[None] = True
        if blocker is not None:
            self.store(("returns blocked", function.node), PLAIN, function.node, function.module)
            self.block(self.load(("return", function.node, None)), blocker)

    def is_followed_once(self, function: Function) -> bool:
        """Whether all calls of a function are one: of a lambda, and of what runs on after its call has returned."""
        if function.node not in self.bodies.followed_once:
            runs_at_once = isinstance(function.node, ast.FunctionDef) and not is_generator(function.node)
            self.bodies.followed_once[function.node] = not runs_at_once
        return self.bodies.followed_once[function.node]

    def reach(self, function: Function) -> None:
        """Notes that a function runs, so that its body is interpreted."""
        if function.node not in self.bodies.functions:
            self.bodies.functions[function.node] = function
            self.changed = True

    # Joins

    def join(self, one: Abstract, other: Abstract, node: ast.AST, module: Module) -> Abstract:
        """What a name holds that may hold either; arrays of both then share one representation."""
        if isinstance(one, Nothing):
            return one if isinstance(other, Nothing) and one.none else other
        if one is other or isinstance(other, Nothing):
            return one
        match one, other:
            case Ref(), Ref():
                self.changed |= one.group.unify(other.group)
                if one.is_array or other.is_array:
                    self.changed |= one.group.flatten()
                is_container = CONTAINER in (one.shape, other.shape)
                shape = one.shape if one.shape == other.shape else CONTAINER if is_container else None
                return Ref(one.group, shape, one.is_array and other.is_array, max(one.numpys, other.numpys))
            case Tup(parts=a, names=names), Tup(parts=b, names=others) if len(a) == len(b) and names == others:
                return Tup(tuple(self.join(x, y, node, module) for x, y in zip(a, b, strict=True)), names)
            case (Seq(), Seq()) | (Dct(), Dct()):
                return self._join_boxes(one, other, node, module)
            case Obj(cls=a), Obj(cls=b) if base := self._common_base(a, b):
                return Obj(base)
            case (Func() | Obj(), Func() | Obj()):
                return Func(_items(one) | _items(other))
            case Plain(), Plain():
                return one if one == other else PLAIN
        return self._join_unlike(one, other, node, module)

    def _common_base(self, one: Class, other: Class) -> Class | None:
        """The nearest class that two derive from, or are."""
        if one == other:
            return one
        others = self.resolver.lineage(other)
        return next((cls for cls in self.resolver.lineage(one) if cls in others), None)

    def _join_unlike(self, one: Abstract, other: Abstract, node: ast.AST, module: Module) -> Abstract:
        """A container and a tree of arrays stay one group; functions are followed still, anything else no longer."""
        both = (one, other)
        group = self.group(both)
        if group is None or any(map(leaves_plain, both)):
            blocker = Blocker(NOT_ALIKE, module, node, remedy=MIXED)
            called = [value.items for value in both if isinstance(value, Func)]
            for value in both:
                if not isinstance(value, Func):
                    self.block(value, blocker)
            return Func(called[0] | {UNKNOWN}) if called else PLAIN
        self._stand_for(both, group)
        return Ref(group, _shape_of(one, other), numpys=numpys_in(both))

    def _join_boxes(self, one: Abstract, other: Abstract, node: ast.AST, module: Module) -> Abstract:
        assert isinstance(one, Seq | Dct)
        assert isinstance(other, Seq | Dct)
        a, b = one.box, other.box
        if a is b:
            return one
        for source, target in ((a, b), (b, a)):
            self.fill(target, source.element, node, module)
            for name, value in list(source.fields.items()):
                self.fill(target, value, node, module, name)
            if source.blocked is not None and target.blocked is None:
                self.block(Seq(target), source.blocked)
        return one

    def group(self, values: Iterable[Abstract]) -> Group | None:
        """The group of all arrays in some values, which share one representation from here on."""
        group = unify_all(c for value in values for c in groups_in(value))
        if group is not None:
            self.changed |= group.flatten()
        return group

    def group_of(self, value: Abstract) -> Group | None:
        """The same of one value, but that an object keeps a representation for each of its fields."""
        return value.group if isinstance(value, Ref) else self.group([value])

    def join_env(self, one: Env | None, other: Env | None, node: ast.AST, module: Module) -> Env | None:
        """What two ways that meet leave behind; None for a way that does not get there."""
        if one is None or other is None:
            return dict(other) if one is None and other is not None else one
        joined: Env = {}
        for name in (*one, *(n for n in other if n not in one)):
            first, second = one.get(name, NOTHING), other.get(name, NOTHING)
            joined[name] = first if first is second else self._meet(first, second, node, module)
        return joined

    def _meet(self, one: Abstract, other: Abstract, node: ast.AST, module: Module) -> Abstract:
        """Two values of a name: unlike ones are kept apart until somebody reads it."""
        if isinstance(one, Mixed) or isinstance(other, Mixed):
            values = [*_ways(one), *(v for v in _ways(other) if not any(same(v, w) for w in _ways(one)))]
            return Mixed(tuple(values))
        plain = leaves_plain(one) or leaves_plain(other)
        if plain and type(one) is not type(other) and (is_tracked(one) or is_tracked(other)):
            return Mixed((one, other))
        return self.join(one, other, node, module)

    def settle(self, value: Abstract, node: ast.AST, module: Module) -> Abstract:
        """What a name gives where it is read."""
        if not isinstance(value, Mixed):
            return value
        result: Abstract = NOTHING
        arrays = any(isinstance(one, Ref) for one in value.values)
        for one in value.values:
            if not (arrays and one == NUMBER):  # `total = 0`, to which arrays are added
                result = self.join(result, one, node, module)
        return result

    def lean(self, values: Iterable[Abstract], why: Assumption) -> None:
        """Has all arrays in some values rest on an assumption, as far as they become global ones."""
        self.leans = True
        for group in [group.find() for value in values for group in groups_in(value)]:
            self.changed |= why not in group.leans
            group.leans[why] = None

    def block_all(
        self, values: Iterable[Abstract], reason: Reason, node: ast.AST, module: Module, remedy: Remedy | None = None
    ) -> None:
        """Blocks several values for one reason."""
        blocker = Blocker(reason, module, node, remedy=remedy)
        for value in values:
            self.block(value, blocker)


def _items(value: Func | Obj) -> frozenset[Item]:
    """What may be called or asked for attributes."""
    return value.items if isinstance(value, Func) else frozenset({value})


def _shape_of(one: Abstract, other: Abstract) -> AbstractValue | None:
    """What is known of a container and a tree of arrays in one place: how many parts both have.

    One that nothing has been put into says nothing of what stands in its place.
    """
    for tup, tree in ((one, other), (other, one)):
        match tup, tree:
            case _, Ref(shape=shape) if is_empty(tup):
                return shape
            case Tup(parts=parts, names=()), Ref(shape=AbstractValue(parts=(*known,))) if len(parts) == len(known):
                return AbstractValue(parts=(AbstractValue(),) * len(parts))
    return CONTAINER


def _ways(value: Abstract) -> tuple[Abstract, ...]:
    if isinstance(value, Mixed):
        return value.values
    return () if isinstance(value, Nothing) else (value,)
