"""Groups of arrays that flow into one another: what is known of each, and its layout as far as that is decided."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Literal, cast

from jaxmigrate.flow.layout import (
    classes,
    host_arithmetic,
    jaxline,
    objects,
    operations,
    reductions,
    results,
    run_by_all,
    sizes,
)
from jaxmigrate.flow.layout.buffers import is_result_written
from jaxmigrate.flow.layout.causes import NOT_ONE, Reason, Stacked
from jaxmigrate.flow.layout.choices import Choice, Name, NamedTuple, SiteChoice
from jaxmigrate.flow.layout.examples import is_example_of
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.kinds import COUNTINGS
from jaxmigrate.flow.layout.model import BATCH, ENTRY, OBSERVED, PRESUMED, Key, Keys, Op, Place
from jaxmigrate.flow.layout.site_facts import SiteFacts
from jaxmigrate.flow.layout.values import PROCESSES, Blocker, Group, Remedy, told
from jaxmigrate.flow.variance import AbstractValue, Level
from jaxmigrate.flow.variance.lattice import OTHERS, Fields, tuple_of
from jaxmigrate.program.modules import Module
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Class, Instance

PARAMETERS = frozenset({"model", "optimizer", "parameters", "params", "target", "weights"})  # what a state is for
SLICED = ("handed over", "padded")  # by libraries, with one slice for each device
REPLICABLE = frozenset(
    {"replicate", "output", "argument", "first", "inner", "metrics", "numpy", "written", "stack", "read", "checkpoint"}
    | {"identity", "listed", "size", "type", "whole", reductions.REDUCED, reductions.FETCHED}
    | {reductions.AVERAGED}
)
COMPUTED = frozenset({host_arithmetic.ALONE, host_arithmetic.DIVIDED, host_arithmetic.TOGETHER})
ON_HOST = COMPUTED | {
    reductions.FLAT,
    reductions.DEEP,
    BATCH,
    reductions.REDUCED,
    reductions.FETCHED,
    reductions.SUMMED,
    reductions.AVERAGED,
}  # what host code does with arrays, and leaves as it is
ON_ONE_PROCESS = COMPUTED | {"listed", "merge", "output", "read", reductions.FLAT}
ON_ONE_PROCESS |= {reductions.REDUCED, reductions.FETCHED, reductions.SUMMED}
OF_PROCESS = frozenset({"merge", "output"})  # and with several, where each takes its own rows
SPLITTING = frozenset({"split", "merge", BATCH})
PART_OF_PROCESS = Stacked.READ_ON_HOST.reason(
    "is taken apart on the host, where each of several processes would have only a part of a global array"
)
SUMMED_COPIES = Stacked.READ_ON_HOST.reason("is summed over all devices on the host")
REDUCED_BY_ONE = Stacked.READ_ON_HOST.reason("is reduced over all devices on the host")
SHOWN_IN_PART = Stacked.READ_ON_HOST.reason(
    "is shown as text, which each of several processes has only a part of where an array is split"
)
SPLIT_FIELD = Stacked.PER_DEVICE.reason("is split over the devices, while other fields of its object are replicated")


class Groups:
    """All groups of a program, and what has been found to speak against a global layout of some."""

    def __init__(self, it: Interpreter, axis: str, processes: bool) -> None:
        self.it = it
        self.axis = axis
        self.processes = processes
        self.facts = SiteFacts(it, axis)
        more = OF_PROCESS if processes else ON_ONE_PROCESS
        self.splittable = {"split", "argument", "prefetch", "identity", "size", "whole", "example"} | more
        self.whole: frozenset[ast.expr] = frozenset()  # maps whose objects have one layout for all their fields
        self.dropped: dict[Group, Reason | Blocker] = {}
        self.copied: dict[tuple[ast.expr, int], set[str]] = {}  # the methods that copy an argument, as far as asked
        self.kinds = self._kinds()
        if self._join_batches():
            self.kinds = self._kinds()
        self.makers = self._makers()
        self.lookers = self._lookers()
        made_by = self._made_by()
        self.classes = {root: cls for root, cls in made_by.items() if classes.is_named_tuple(it, cls)}
        self.states = {root: cls for root, cls in made_by.items() if root not in self.classes}
        self.places: dict[ast.expr, tuple[Place, ...]] = {}  # the outputs of a site that are told apart
        self.named: dict[ast.expr, dict[Place, results.Record]] = {}  # the named tuples and dictionaries among them
        for node in it.sites:
            self.places[node], self.named[node] = results.places(it, node, self.facts.counts.get(node, 0))
        self.touching: dict[Group, list[Key]] = {}
        self.of_site: dict[object, list[Group]] = {}
        self.owners: dict[Group, dict[Group, None]] = {}
        roots = (group.find() for group in (*it.groups.values(), *(op.group for op in it.operations.ops.values())))
        for root in dict.fromkeys(roots):  # in the order of the program, so that reasons are the same in each run
            for group in root.fields.values():
                self.owners.setdefault(group.find(), {})[root] = None
        self.computed = self._computed()
        self.alike = jaxline.alike(it)
        self.on_host = {group.find() for group in it.lending.on_host}  # what the program asks for there
        self.shown = {group.find() for group in it.lending.shown}  # as text
        for key, group in it.groups.items():
            if key[0] in ("argument", "output"):
                self.touching.setdefault(group.find(), []).append(key)
                self.of_site.setdefault(key[1], []).append(group)

    # Facts

    def _kinds(self) -> dict[Group, set[str]]:
        """By group, what makes and takes apart its arrays."""
        found: dict[Group, set[str]] = {}
        batches = {op.group.find() for op in self.it.operations.ops.values() if op.kind == "split"}
        for op in self.it.operations.ops.values():
            is_example = op.kind == "first" and op.group.find() in batches and is_example_of(op.node, op.module)
            found.setdefault(op.group.find(), set()).add("example" if is_example else op.kind)
            if op.is_numpys:
                found[op.group.find()].add("numpy")
            if op.kind == "first" and is_result_written(op.node, op.module, self.it.resolver):
                found[op.group.find()].add("written")
        for key, group in self.it.groups.items():
            if key[0] in ("output", "argument", "rows", *SLICED, *ON_HOST):
                found.setdefault(group.find(), set()).add(str(key[0]))
        for op in self.it.operations.ops.values():
            if op.kind == "size" and sizes.shows_axis(op):
                found[op.group.find()].add(reductions.DEEP)
        for kinds in found.values():
            if kinds >= {reductions.FLAT, reductions.DEEP} and not self.processes:
                kinds.add("merge")
            kinds.discard(reductions.DEEP)
        return found

    def _join_batches(self) -> bool:
        """Makes one group of each object all of whose fields are split, as a batch with named parts is; says if any."""
        found = False
        for root, cls in self._made_by().items():
            fields = {name: group.find() for name, group in root.fields.items()}
            whole = set(self.it.resolver.declared_fields(cls)) == {*fields}
            if fields and whole and all("split" in self.kinds.get(one, ()) for one in fields.values()):
                found |= root.flatten()
        return found

    def _makers(self) -> dict[Group, list[Op]]:
        """By group, the operations that make its arrays and leave them where that lies which they are made of."""
        found: dict[Group, list[Op]] = {}
        for op in self.it.operations.ops.values():
            if operations.keeps_place(self.it, op):
                found.setdefault(op.group.find(), []).append(op)
        return found

    def _lookers(self) -> list[Op]:
        """The operations that may look at how arrays lie that lie where that does which they are made of."""
        ops = (op for op in self.it.operations.ops.values() if op.group.find() in self.makers)
        return [op for op in ops if operations.may_look_at_place(self.it, op)]

    def _made_by(self) -> dict[Group, Class]:
        """By group, the class that all its objects are of, if mapped functions give back the same."""
        found: dict[Group, set[Class | None]] = {}
        for key, group in self.it.groups.items():
            if key[0] not in ("argument", "output", "lent", *ON_HOST):
                found.setdefault(group.find(), set()).add(self.it.maps.records.get(key[1]))
        single = {root: next(iter(kinds)) for root, kinds in found.items() if len(kinds) == 1}
        return {root: cls for root, cls in single.items() if cls is not None}

    # Groups

    def _layout(self, group: Group | None) -> Name | None:
        """The global layout of a group, None where it stays stacked."""
        if group is None:
            return None
        layouts = [self._own(one) for one in self.family_of(group.find())]
        return None if None in layouts else layouts[0]

    def _own(self, root: Group) -> Name | None:
        """The global layout of a group for all that is said about it alone."""
        if root.blockers or root in self.dropped:
            return None
        kinds = self.kinds_of(root)
        if self.processes and kinds & SPLITTING and not self.shown.isdisjoint(self.family_of(root)):
            return None  # a process cannot show what others have
        if BATCH in kinds:
            return "split" if kinds <= self.splittable | {"output", BATCH} else None
        if "split" in kinds or "merge" in kinds:
            fetched = self.processes and kinds & OF_PROCESS and not self.on_host.isdisjoint(self.family_of(root))
            return "split" if kinds <= self.splittable and not fetched else None
        if not COMPUTED.isdisjoint(kinds) and self._is_numpys(root, kinds):
            return None
        if self.processes and None in self.by_all(root):
            return None
        if kinds >= {"numpy", "written"} or kinds >= {"numpy", "type"} or ("type" in kinds and self._is_unseen(root)):
            return None
        return "replicated" if kinds <= (REPLICABLE | COMPUTED) - {host_arithmetic.DIVIDED} else None

    def _computed(self) -> dict[Group, list[Assumption | None]]:
        """By group, what lets each process compute on the host with arrays that are global; None where nothing does."""
        found: dict[Group, list[Assumption | None]] = {}
        for key, group in self.it.groups.items() if self.processes else ():
            if key[0] in COMPUTED | {reductions.REDUCED, reductions.AVERAGED}:
                node = cast("ast.expr", key[1])
                module = next(one for one in self.it.modules if node in one.table.parents)
                found.setdefault(group.find(), []).append(run_by_all.assumed(self.it, node, module))
        self.it.leans = self.it.leans or any(why is not None for whys in found.values() for why in whys)
        return found

    def by_all(self, root: Group) -> list[Assumption | None]:
        """What lets each of several processes compute with the arrays of a group, and with objects that they are in."""
        return [why for one in self.family_of(root) for why in self.computed.get(one, ())]

    def _is_numpys(self, root: Group, kinds: Collection[str]) -> bool:
        """Whether arrays of a group may be numpy's, which has rules of its own for the dtypes of single numbers."""
        return "numpy" in kinds or not self.on_host.isdisjoint(self.family_of(root))

    def _is_unseen(self, root: Group) -> bool:
        """Whether arrays of a group are made out of sight, so that they may be NumPy's."""
        ops = (op for op in self.it.operations.ops.values() if op.group.find() in self.family_of(root))
        return any(op.form in (OBSERVED, PRESUMED) for op in ops)

    def _reason(self, group: Group | None, module: Module) -> Reason:
        return told(self._why(group), module)

    def _why(self, group: Group | None) -> Reason | Blocker:
        """Why the arrays of a group stay stacked, with the place where that shows."""
        if group is None:
            return NOT_ONE
        root = group.find()
        for one in self.family_of(root):
            if why := self._held_by(one):
                return why
        kinds = self.kinds_of(root)
        if "rows" in kinds:
            return (
                Stacked.PER_DEVICE.reason(f"holds one {self._rows_of(root)} per device")
                if self._rows_of(root)
                else Stacked.RANDOM_KEY.reason("holds one random key per device")
            )
        if self.processes and (why := self._of_processes(root, kinds)):
            return why
        if why := self._of_host(root, kinds):
            return why
        if "split" in kinds and any(self._own(one) == "replicated" for one in self.owners.get(root, ())):
            return SPLIT_FIELD
        if "split" in kinds:
            said = Stacked.MIXED.reason("holds a split batch in one place and something else in another")
        else:
            said = Stacked.MIXED.reason("is used as stacked in one place and as replicated in another")
        return self._at(root, kinds - self.splittable - {"output"}, said)

    def _of_processes(self, root: Group, kinds: set[str]) -> Reason | Blocker | None:
        """What host code does with the arrays of a group that each of several processes has a part of."""
        if not kinds.isdisjoint({"split", "merge"}) and not self.shown.isdisjoint(self.family_of(root)):
            return SHOWN_IN_PART
        if reductions.REDUCED in kinds and kinds.isdisjoint(SPLITTING):
            return self._at(root, {reductions.REDUCED}, REDUCED_BY_ONE, PROCESSES)
        if "merge" in kinds and not self.on_host.isdisjoint(self.family_of(root)):
            return self._at(root, {"merge"}, PART_OF_PROCESS, PROCESSES)
        taken_apart = kinds & ON_ONE_PROCESS - OF_PROCESS
        if taken_apart and kinds <= self.splittable | ON_ONE_PROCESS:
            return self._at(root, taken_apart, PART_OF_PROCESS, PROCESSES)
        return None

    def _of_host(self, root: Group, kinds: set[str]) -> Reason | Blocker | None:
        """What arithmetic on the host keeps the arrays of a group stacked."""
        if reductions.FLAT in kinds and kinds.isdisjoint({"split", "merge"}):
            said = Stacked.READ_ON_HOST.reason("has all its elements put in another shape on the host")
            return self._at(root, {reductions.FLAT}, said)
        if not COMPUTED.isdisjoint(kinds) and not kinds <= self.splittable:
            return self._at(root, COMPUTED, Stacked.READ_ON_HOST.reason("takes part in arithmetic on the host"))
        if reductions.SUMMED in kinds and kinds.isdisjoint(SPLITTING):
            return self._at(root, {reductions.SUMMED}, SUMMED_COPIES)
        return None

    def _at(self, root: Group, kinds: Collection[str], said: Reason, remedy: Remedy | None = None) -> Reason | Blocker:
        """A reason with the first place where something of some kinds is done with the arrays of a group."""
        family = self.family_of(root)
        places: list[tuple[ast.AST, Module]] = [
            (op.node, op.module)
            for op in self.it.operations.ops.values()
            if op.kind in kinds and op.group.find() in family
        ]
        for key, one in self.it.groups.items():
            if not places and key[0] in kinds and isinstance(key[1], ast.AST) and one.find() in family:
                node = key[1]
                places += [(node, module) for module in self.it.modules if node in module.table.parents][:1]
        return Blocker(said, places[0][1], places[0][0], remedy=remedy) if places else said

    def _rows_of(self, root: Group) -> str:
        """What each device has of a group: its number, a slice that was put there; empty for a random key."""
        rows = [op for op in self.it.operations.ops.values() if op.kind == "rows" and op.group.find() is root]
        names = (self.it.idioms.called(op.node, op.module) for op in rows)
        if rows and all(name in COUNTINGS for name in names):
            return "number"
        return "slice" if any(op.form == operations.SLICES for op in rows) else ""

    def _held_by(self, root: Group) -> Reason | Blocker | None:
        """What a group was dropped for, or is blocked by; None where nothing is."""
        return self.dropped.get(root) or next(iter(root.blockers.values()), None)

    def _argument(self, node: ast.expr, index: int, *part: int) -> Group | None:
        return self.it.groups.get(("argument", node, index, *part))

    def _size(self, node: ast.expr, index: int) -> int:
        """How many parts an argument has that have layouts of their own; 0 where it has one."""
        return self.it.maps.sizes.get((node, index), 0)

    def _parts(self, node: ast.expr, index: int) -> list[Group | None]:
        """The groups of the parts of an argument, or its own; None for what is in no group, and stays as it is."""
        size = self._size(node, index)
        return [self._argument(node, index, i) for i in range(size)] or [self._argument(node, index)]

    def _in_argument(self, node: ast.expr, index: int) -> list[Group]:
        """The groups of an argument, without what is in none."""
        return [group for group in self._parts(node, index) if group is not None]

    def _outputs(self, node: ast.expr) -> list[Group | None]:
        return [self.it.groups.get(("output", node, i)) for i in self.places[node]]

    def with_groups(self, choice: SiteChoice) -> list[tuple[Choice, Group | None]]:
        """The arguments and outputs of a site, or their parts, each with its group."""
        node = choice.site.node
        groups: list[tuple[Choice, Group | None]] = []
        for index, one in enumerate(choice.arguments):
            places: list[tuple[int, ...]] = [(index, i) for i in range(len(one.parts))] or [(index,)]
            groups += [(part, self._argument(node, *at)) for part, at in zip(one.leaves, places, strict=True)]
        groups += zip(choice.outputs, self._outputs(node), strict=True)
        return [(one, group.find() if group is not None else None) for one, group in groups]

    def _returned(self, node: ast.expr) -> AbstractValue | None:
        return results.returned(self.it, node, self._given(node))

    def _given(self, node: ast.expr) -> list[AbstractValue]:
        """The arguments of a mapped function: whether devices hold different ones."""
        return [self._given_one(node, i, axis) for i, axis in enumerate(self.facts.in_axes(node) or ())]

    def _given_one(self, node: ast.expr, index: int, axis: int | None) -> AbstractValue:
        size = self._size(node, index)
        if size and axis is not None:
            return tuple_of([self._given_part(node, axis, index, i) for i in range(size)])
        return self._given_part(node, axis, index)

    def _given_part(self, node: ast.expr, axis: int | None, *place: int) -> AbstractValue:
        is_tree = len(place) > 1 or ("tree", node, *place) in self.it.variables
        kind: Literal["array", "unknown"] = "unknown" if is_tree else "array"
        group = self._argument(node, *place)
        if axis is not None and self._layout(group) != "replicated":
            alike = ("plain", node, *place) not in self.it.variables and group in self.alike
            return AbstractValue(Level.NO if alike else Level.YES, kind=kind)
        fields = self._stacked_fields(group, self.it.sites[node].module) if axis is not None else ()
        cls = self.classes.get(group.find()) if group is not None and axis is not None else None
        if cls is not None:
            stacked = {name for name, _ in fields}
            levels = {n: Level.YES if n in stacked else Level.NO for n in self.it.resolver.declared_fields(cls)}
            each = Fields({name: AbstractValue(level) for name, level in levels.items()})
            return AbstractValue(Level.MAY if stacked else Level.NO, fields=each, static=Instance(cls))
        state = self.states.get(group.find()) if group is not None and axis is not None else None
        if not fields and state is None:
            return AbstractValue(Level.NO, kind=kind)
        each = Fields({name: AbstractValue(Level.YES) for name, _ in fields} | {OTHERS: AbstractValue()})
        return AbstractValue(
            Level.MAY if fields else Level.NO, fields=each, static=Instance(state) if state is not None else None
        )

    # Objects with fields

    def family_of(self, root: Group) -> list[Group]:
        """A group and the objects whose field it is."""
        return [root, *self.owners.get(root, ())]

    def keys_of(self, root: Group) -> list[Key]:
        """The arguments and outputs that a group's arrays are, or are in."""
        return [key for one in self.family_of(root) for key in self.touching.get(one, ())]

    def kinds_of(self, root: Group) -> set[str]:
        """What makes and takes apart a group's arrays, and the objects that they are in."""
        return set().union(*(self.kinds.get(one, set()) for one in self.family_of(root)))

    def _field(self, root: Group, name: str) -> Group:
        """The group of a field, of which the program may not have asked yet."""
        field = root.field(name)
        self.owners.setdefault(field.find(), {})[root] = None
        return field

    def _is_mixable(self, root: Group) -> bool:
        """Whether some fields of an object may stay stacked: what gives it takes one, and it can be copied."""
        if any(key[1] in self.whole for key in self.keys_of(root)):
            return False
        if parts_of(root):
            return self._own(root) == "replicated"
        if root.flat or self._own(root) != "replicated" or "numpy" in self.kinds_of(root) or not self._method(root):
            return False
        keys = self.touching.get(root, [])
        mapped_by = {key[1] for key in keys if key[0] == "argument"}
        blocked = [name for name, group in root.fields.items() if group.find().blockers]
        if any(name in PARAMETERS and self._layout(group) is None for name, group in root.fields.items()):
            return False  # there is nothing to be won by the rest
        sites = [cast("ast.expr", key[1]) for key in self.keys_of(root)]
        if any(self._named_tuples(site) and self._of(root, site) is None for site in sites):
            return False  # the specs of all that such a site takes and gives are trees
        given = all(key[1] in mapped_by for key in keys if key[0] == "output")
        return given and not any(objects.may_be_static(self.it, name) for name in blocked)

    def _named_tuples(self, site: ast.expr) -> list[Class]:
        """The classes of the named tuples that a site gives."""
        return [one for one in self.named[site].values() if not isinstance(one, Keys)]

    def _method(self, root: Group) -> str:
        """The method that copies an object with other fields; empty where that is not known."""
        found = {*root.methods}
        if root in self.classes:
            return "_replace"
        for key in self.touching.get(root, ()):
            if key[0] == "argument":
                site = cast("ast.expr", key[1])
                found |= self._copied_by(site, cast("int", key[2]))
        return found.pop() if len(found) == 1 else ""

    def _copied_by(self, site: ast.expr, index: int) -> set[str]:
        if (site, index) not in self.copied:
            self.copied[site, index] = objects.copied_by(self.it, site, index, self.facts.counts.get(site, 0))
        return self.copied[site, index]

    def _module_of(self, root: Group) -> Module:
        keys = self.touching.get(root, ())
        ops = (op.module for op in self.it.operations.ops.values() if op.group.find() is root)
        return next((self.it.sites[key[1]].module for key in keys), None) or next(ops)  # type: ignore[index]

    def _stacked_fields(self, group: Group | None, module: Module) -> tuple[tuple[str, Reason], ...]:
        """The fields of an object that stay stacked while the others are replicated."""
        if group is None or self._layout(group) != "replicated":
            return ()
        fields = sorted(group.find().fields.items())
        return tuple((name, self._reason(one, module)) for name, one in fields if self._layout(one) is None)

    def _named_tuple(self, cls: Class | None, node: ast.expr) -> NamedTuple | None:
        name = classes.name_at(self.it, cls, node, self.it.sites[node].module) if cls is not None else ""
        return NamedTuple(name, tuple(self.it.resolver.declared_fields(cls))) if cls is not None and name else None

    def _of(self, group: Group | None, node: ast.expr) -> NamedTuple | None:
        """What the class of a group's objects is called where a site stands."""
        return self._named_tuple(self.classes.get(group.find()), node) if group is not None else None


def parts_of(root: Group) -> list[Group]:
    """The parts of a tuple that is made by one operation, or of a tuple or dictionary that one takes apart."""
    return [group.find() for name, group in root.fields.items() if name.isdigit() or name.startswith(ENTRY)]
