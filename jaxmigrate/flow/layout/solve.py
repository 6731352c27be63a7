"""Which groups of arrays change their representation: the largest choice in which every piece is proven."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import cast

from jaxmigrate.flow.layout import advice, initializers, mapped_bodies, observing, operations, presuming, results
from jaxmigrate.flow.layout.aligned import aligned, marked
from jaxmigrate.flow.layout.causes import NOT_FULL, NOT_ONE, Reason, Stacked
from jaxmigrate.flow.layout.choices import Choice, Layouts, Name, OpChoice, Outputs, SiteChoice, Squeeze, of_parts
from jaxmigrate.flow.layout.groups import REPLICABLE, SLICED, SPLIT_FIELD, Groups
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Op, Place
from jaxmigrate.flow.layout.numbers import gives_number
from jaxmigrate.flow.layout.values import Blocker, Group, Nothing, Remedy, Tup, placed, told
from jaxmigrate.flow.variance import AbstractValue, Level
from jaxmigrate.flow.variance.lattice import EQUAL, OTHERS, Cause, Fields, field_of, tuple_of
from jaxmigrate.flow.variance.lattice import replace as replace_var
from jaxmigrate.program.modules import Module
from jaxmigrate.program.sites import mapped_values
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Function

RESULTS = {"output", "first", "metrics"}
UNDER_NONE = Stacked.MIXED.reason("is a stacked array under in_axes=None")


@dataclass(frozen=True)
class Setup:
    """How a program runs: perhaps as several `processes`, and `guarded` where it asks which of them it is.

    `axis` names the mapped axes that have no name.
    """

    axis: str
    processes: bool
    guarded: bool


class Solver(Groups):
    """Starts from all groups global and drops those that something speaks against, until nothing does."""

    def __init__(self, it: Interpreter, setup: Setup) -> None:
        super().__init__(it, setup.axis, setup.processes)
        self.guarded = setup.guarded
        self.blocked = {site: self.facts.blocked(site) for site in it.sites}
        self.assumed: dict[tuple[ast.expr, int], tuple[Assumption, ...]] = {}  # why outputs are taken for equal
        self.observed: dict[tuple[ast.expr, int], dict[str, Assumption]] = {}  # the same of a run, and of their fields
        self.result_of: dict[Reason | Blocker, str] = {}  # what a declaration calls the output that a reason is about
        self.by_rows: set[ast.expr] = set()  # sites that may be called with slices for fewer devices than there are
        tests = (
            self._block,
            self._drop_numbers,
            self._drop_varying,
            self._drop_useless,
            self._drop_mixed,
            self._drop_moved,
        )
        while any(test() for test in tests):
            pass

    def is_global(self, group: Group) -> bool:
        """Whether the arrays of a group lose their leading axis."""
        return self._layout(group) is not None

    def solution(self) -> Layouts:
        """The layouts of all sites, and of what makes and takes apart their arrays."""
        choices = {node: self._choice(node) for node in self.it.sites}
        stacked = [root for root in {**self.kinds, **self.owners} if not self.is_global(root)]
        over_all = aligned(self, choices, stacked, self.guarded) if self.processes else set[Group]()
        result = Layouts({node: marked(self, choice, over_all) for node, choice in choices.items()})
        for call in self.it.maps.calls.values():
            by_keyword = call.node.keywords and call.node not in self.it.wrappers.padded_calls
            if by_keyword and not result.sites[call.site].keywords and result.sites[call.site].is_global:
                result.calls.append(call)
        for op in self.it.operations.ops.values():
            layout = "stacked" if op.group.find() in over_all else self._layout(op.group)
            if layout is not None:
                result.ops.append(self._op_choice(op, layout, over_all))
        result.together = self._together(result, over_all)
        return result

    def _op_choice(self, op: Op, layout: Name, over_all: Collection[Group]) -> OpChoice:
        root = op.group.find()
        fields = tuple(name for name, _ in self._stacked_fields(root, op.module))
        method = self._method(root) if fields else ""
        cls = self.classes.get(root)
        names = self.it.resolver.declared_fields(cls) if cls is not None and fields else ()
        rest = tuple(name for name in names if name not in fields)
        own = frozenset(name for name in fields if self._field(root, name).find() in over_all)
        for_all = op.kind == "first" and self._is_given_whole(op.node)
        return OpChoice(op, layout, self._axis_for(root), self._is_donated(root), fields, method, rest, own, for_all)

    def _is_given_whole(self, node: ast.expr) -> bool:
        """Whether an expression is what a mapped function is given without a device axis: `step(unreplicate(w), x)`."""
        for call in self.it.maps.calls.values():
            axes = self.facts.in_axes(call.site) or ()
            if any(place is node and axis is None for place, axis in zip(call.places, axes, strict=False)):
                return True
        return False

    def _together(self, result: Layouts, over_all: Collection[Group]) -> list[frozenset[Module]]:
        """The modules whose texts change for the same arrays, for each group of arrays and each mapped function."""
        found: dict[object, set[Module]] = {}
        for node, choice in result.sites.items():
            if not choice.is_global:
                continue
            module = choice.site.module
            found[node] = {module, *(s.function.module for s in choice.squeezes)}
            found[node] |= {call.module for call in result.calls if call.site is node}
            for _, root in self.with_groups(choice):
                if root is not None and (self.is_global(root) or root in over_all):
                    for one in self.family_of(root):
                        found.setdefault(one, set()).add(module)
        for op in (choice.op for choice in result.ops):
            for one in self.family_of(op.group.find()):
                found.setdefault(one, set()).add(op.module)
        return list(dict.fromkeys(frozenset(modules) for modules in found.values() if len(modules) > 1))

    # What speaks against

    def _drop(self, group: Group | None, reason: Reason | Blocker) -> bool:
        if group is None or self._layout(group) is None:
            return False
        self.dropped[group.find()] = reason
        return True

    def _block(self) -> bool:
        """Sites whose calls are not proven to fill all devices, and the arrays of sites that stay as they are."""
        changed = False
        for node in self.it.sites:
            if not self.blocked[node] and not self._fills(node):
                if self._gives_results(node):
                    changed |= node not in self.by_rows
                    self.by_rows.add(node)
                else:
                    self.blocked[node] = NOT_FULL
                    changed = True
            if (why := self.blocked[node]) is not None:
                reason = _reaching(why)
                for group in self.of_site.get(node, ()):
                    changed |= self._drop(group, reason)
            else:
                for index, axis in enumerate(self.facts.in_axes(node) or ()):
                    changed |= self._drop_argument(node, index, axis)
                if node in self.by_rows:
                    for output in self._outputs(node):
                        if output is not None and not self._is_result(output.find()):
                            changed |= self._drop(output, NOT_FULL)
        return changed

    def _drop_argument(self, node: ast.expr, index: int, axis: int | None) -> bool:
        """The arrays of an argument that is not mapped, or of which a call may have slices for fewer devices."""
        if axis is not None and node not in self.by_rows:
            return False
        reason = UNDER_NONE if axis is None else NOT_ONE
        dropped = [self._drop(group, reason) for group in self._in_argument(node, index)]
        return any(dropped)

    def _gives_results(self, node: ast.expr) -> bool:
        """Whether a site gives something of which only one device's is taken, whatever number of devices it runs on."""
        axes, static = self.facts.in_axes(node) or (), self.facts.positions(node, "static_broadcasted_argnums")
        if not axes or any(axis is None for axis in axes) or static or self.it.maps.by_keyword.get(node):
            return False
        if self.named[node]:
            return False
        if any(results.axis_of_output(self.it, node, place) is None for place in self.places[node]):
            return False
        outputs = [
            group.find() for group in self._outputs(node) if group is not None and self._layout(group) is not None
        ]
        return any(map(self._is_result, outputs))

    def _is_result(self, root: Group) -> bool:
        """Whether only one device's slice is taken of what a site gives, which no mapped function is given."""
        return self.kinds_of(root) <= RESULTS and not root.fields

    def _fills(self, node: ast.expr) -> bool:
        """Whether every call has a slice for each device: some argument was made with as many."""
        axes = self.facts.in_axes(node) or ()
        known = [i for i, axis in enumerate(axes) if axis == 0 and ("plain", node, i) not in self.it.variables]
        return any(self._is_full(group) for i in known for group in self._in_argument(node, i))

    def _is_full(self, group: Group) -> bool:
        kinds = self.kinds_of(group.find())
        makers = [key[1] for key in self.keys_of(group.find()) if key[0] == "output"]
        made = bool(kinds & {"replicate", "split", "rows", "checkpoint", *SLICED}) or bool(makers)
        return made and not any(self.blocked[cast("ast.expr", maker)] for maker in makers)

    def _drop_numbers(self) -> bool:
        """Outputs that would be split along an axis that they do not have."""
        changed = False
        for node in self.it.sites:
            for place, group in zip(self.places[node], self._outputs(node), strict=True):
                if self._layout(group) == "split" and self._is_number(node, place):
                    changed |= self._drop(group, Stacked.PER_DEVICE.reason("is a scalar on each device"))
        return changed

    def _is_number(self, node: ast.expr, place: Place) -> bool:
        values = mapped_values(self.it.sites[node], self.it.resolver)
        return any(gives_number(value, place, self.it.resolver) for value in values)

    def _drop_varying(self) -> bool:
        """Outputs that may differ between devices."""
        changed = False
        for node in self.it.sites:
            if self.blocked[node]:
                continue
            shape = self._returned(node)
            groups, named = self._outputs(node), self.named[node]
            parts = results.parts_at(shape, self.places[node], named)
            if named and None in parts:
                self.blocked[node] = Stacked.NOT_PROVEN.reason("fix cannot tell what the mapped function returns")
                changed = True
                continue
            self.blocked[node] = self._speaks_against_unmapped(self._unmapped(node, parts))
            if self.blocked[node]:
                changed = True
                continue
            if self._forget_classes(groups, parts):
                changed = True
                continue  # with what is known without them
            for index, (part, group) in enumerate(zip(parts, groups, strict=True)):
                if part is None:
                    seen = self._layout(group) == "replicated" and self._is_taken_for_equal(node, index)
                    changed |= not seen and self._drop(
                        group, Stacked.NOT_PROVEN.reason("comes from a mapped function whose code fix cannot see")
                    )
                elif part.level != Level.NO and self._layout(group) == "replicated":
                    assumed, why = self._assumed(part, node, index)
                    if why:
                        self.it.leans = True
                        self.assumed[node, index] = why
                    else:
                        self.assumed.pop((node, index), None)
                    if assumed.level != Level.NO and not self._is_observed(node, index, assumed):
                        changed |= self._drop_parts(group, assumed, node, index)
        return changed

    def _assumed(self, part: AbstractValue, node: ast.expr, index: int) -> tuple[AbstractValue, tuple[Assumption, ...]]:
        """An output as it may be taken to be although that is not proven, and why: equal, or some fields of it."""
        declared = self._declared_equal(node, index)
        if declared is not None:
            return EQUAL, (declared,)
        if not self.it.trust.likely:
            return part, ()
        shape = results.returned(self.it, node, self._given(node), trusting=True)
        trusted = results.parts_at(shape, self.places[node], self.named[node])[index]
        if trusted is None:
            return part, ()
        if part.level != Level.YES and trusted.level == Level.NO:
            return EQUAL, (self._stored(part.cause, node, index),)
        if self._is_initialized(node, index):
            return EQUAL, (self._initialized(node, index),)
        if self._is_carried(node, index):
            return self._kept_equal(part, trusted, node, index)
        doubts = {
            name: one
            for name, one in (part.fields or {}).items()
            if one.level == Level.MAY and field_of(trusted, name).level == Level.NO
        }
        if not doubts:
            return part, ()
        fields = Fields({name: EQUAL if name in doubts else one for name, one in (part.fields or {}).items()})
        level = max(one.level for one in fields.values())
        return replace_var(part, level=level, fields=fields), tuple(
            dict.fromkeys(self._stored(one.cause, node, index) for one in doubts.values())
        )

    def _is_carried(self, node: ast.expr, index: int) -> bool:
        """Whether an output is a training state by its name, which the map gets back, and the map reduces.

        A step that sums what its devices found is there to keep such a state the same on all of them.
        """
        output = self._outputs(node)[index]
        if output is None or node not in self.it.assumed.reducing:
            return False
        return any(self._is_in(node, at, output) for at in presuming.states(self.it, node))

    def _is_in(self, node: ast.expr, at: tuple[int, ...], group: Group) -> bool:
        """Whether an argument, or a part of one, is an array of a group, or has one among its parts."""
        every = self._in_argument(node, at[0]) if len(at) == 1 else [self._argument(node, *at)]
        return any(one is not None and one.find() is group.find() for one in every)

    def _kept_equal(
        self, part: AbstractValue, trusted: AbstractValue, node: ast.expr, index: int
    ) -> tuple[AbstractValue, tuple[Assumption, ...]]:
        """A training state as a step that reduces keeps it: equal, but for what is known to differ or to be drawn.

        Statistics that a network takes of its batch are each device's own, wherever they are kept.
        """
        why = self._initialized(node, index, "keeps its state the same on every device")
        output, states = self._outputs(node)[index], presuming.states(self.it, node)
        places = [at for at in states if output is not None and self._is_in(node, at, output)]
        learned = all(states[at] for at in places)
        if not part.fields or (learned and _is_only_unknown(trusted)):
            own = not _is_only_unknown(trusted) or (not learned and initializers.keeps_statistics(self.it))
            return (part, ()) if own else (EQUAL, (why,))
        kept = {
            name
            for name in part.fields
            if _is_only_unknown(field_of(trusted, name)) and (presuming.is_learned(name) or name == OTHERS)
        }
        if initializers.keeps_statistics(self.it):
            kept.discard(OTHERS)
        else:
            kept |= {name for name in part.fields if initializers.holds_statistics(name)}  # which hold nothing
        fields = Fields({name: EQUAL if name in kept else one for name, one in part.fields.items()})
        level = max(one.level for one in fields.values())
        return replace_var(part, level=level, fields=fields), (why,) if kept else ()

    def _is_taken_for_equal(self, node: ast.expr, index: int) -> bool:
        """Whether an output of a function out of sight may be taken to be equal on all devices."""
        if self._is_observed(node, index, None):
            return True
        if not self.it.trust.likely or not (self._are_equal(node) or self._is_initialized(node, index)):
            self.assumed.pop((node, index), None)
            return False
        self.it.leans = True
        self.assumed[node, index] = (self._initialized(node, index),)
        return True

    def _are_equal(self, node: ast.expr) -> bool:
        """Whether a mapped function gets the same on all devices."""
        given = self._given(node)
        return bool(given) and all(one.level == Level.NO for one in given)

    def _is_initialized(self, node: ast.expr, index: int) -> bool:
        """Whether an output is initialized from what is equal on all devices, and from the shapes of batches."""
        function = results.only_value(self.it, node)
        if not initializers.initializes(self.it, node, function):
            return False
        given, batches = self._given(node), presuming.batches(self.it, node)
        hoped = [replace_var(one, level=Level.NO) if i in batches else one for i, one in enumerate(given)]
        if not any(one.level == Level.NO and i not in batches for i, one in enumerate(given)):
            return False
        if all(one.level == Level.NO for one in hoped):
            return True
        shape = results.returned(self.it, node, hoped, trusting=True)
        part = results.parts_at(shape, self.places[node], self.named[node])[index]
        return part is not None and part.level == Level.NO

    def _initialized(self, node: ast.expr, index: int, does: str = "gives the same on every device") -> Assumption:
        """That what a map gives is the same on every device, or what else it does."""
        site = self.it.sites[node]
        mapped = site.mapped.expression if site.mapped is not None else None
        function = mapped_bodies.mapped_function(self.it, node)
        own = getattr(function.node, "name", "") if function is not None else ""
        text = ast.unparse(mapped) if mapped is not None else own or "the mapped function"
        name = text if len(text) <= LONGEST_NAME else "the mapped function"
        return Assumption("likely", "equal", self._result_name(node, index), f"`{name}` {does}", site.module, node)

    def _is_observed(self, node: ast.expr, index: int, part: AbstractValue | None, field: str = "") -> bool:
        """Whether an output, or a field of it, was equal on all devices at every call of a run.

        That is no more than an accident where the function is in sight as a whole, and makes it differ.
        """
        if part is not None and part.level == Level.YES and node not in self.it.assumed.guessed:
            return False
        place, name = self.places[node][index], self._result_name(node, index)
        why = observing.output(self.it, node, (*place, field) if field else place, "" if field else name)
        if why is not None:
            self.it.leans = True
            self.observed.setdefault((node, index), {})[field] = why
        return why is not None

    def _declared_equal(self, node: ast.expr, index: int) -> Assumption | None:
        """Whether the user declares that an output is equal on all devices: by a variable, or by the function."""
        if not self.it.trust.declarations.equal:
            return None
        group, name = self._outputs(node)[index], self._result_name(node, index)
        if group in self.it.assumed.equal:
            return self.it.assumed.equal[group]
        function = results.only_value(self.it, node)
        if not isinstance(function, Function) or not name:
            return None
        names = self.it.trust.names_of(function)
        whole = [f"{one}{_index(self.places[node][index])}" for one in names]
        if not self.it.trust.declares("equal", *names, *whole):
            return None
        says, module = f"`{name}` is equal on all devices", self.it.sites[node].module
        return Assumption("declared", "equal", name, says, module, node)

    def _result_name(self, node: ast.expr, index: int) -> str:
        """What a declaration calls an output: `train.step[0]`; empty where the function has no name."""
        function = results.only_value(self.it, node)
        if not isinstance(function, Function) or isinstance(function.node, ast.Lambda):
            return ""
        return f"{self.it.trust.names_of(function)[0]}{_index(self.places[node][index])}"

    def _stored(self, cause: Cause, node: ast.expr, index: int) -> Assumption:
        """That what a function calls which was stored somewhere tells no devices apart."""
        module = cause.module or self.it.sites[node].module
        called = cause.node.func if isinstance(cause.node, ast.Call) else cause.node
        name = (
            ast.unparse(called)
            if isinstance(called, ast.expr)
            else cause.name or "a function read from a variable or container"
        )
        says = f"`{name}` gives the same on every device"
        return Assumption("likely", "equal", self._result_name(node, index), says, module, cause.node or node)

    def _forget_classes(self, groups: Sequence[Group | None], parts: Sequence[AbstractValue | None]) -> bool:
        """Forgets the classes of groups of which an output may be of another; says whether there are such."""
        pairs = zip(groups, parts, strict=True)
        wrong = [one.find() for one, part in pairs if one is not None and not self._is_of_its_class(one.find(), part)]
        for root in wrong:
            self.classes.pop(root, None)
            self.states.pop(root, None)
        return bool(wrong)

    def _is_of_its_class(self, root: Group, part: AbstractValue | None) -> bool:
        """Whether an output is of the class that the objects of its group are taken to be of."""
        cls = self.classes.get(root) or self.states.get(root)
        return cls is None or results.made_by(part) == cls

    def _speaks_against_unmapped(self, parts: Sequence[AbstractValue | None]) -> Reason | None:
        """Why outputs without a device axis keep their site as it is; the program may do with them what it likes."""
        if parts and self.processes and any(self._is_mixed(root) for root in self.kinds):
            return Stacked.NOT_PROVEN.reason("an output under out_axes=None is local to its process")
        if any(part is None or part.level != Level.NO for part in parts):
            return Stacked.NOT_PROVEN.reason("an output under out_axes=None cannot be proven replicated")
        return None

    def _is_mixed(self, root: Group) -> bool:
        """Whether some fields of the objects of a group stay stacked while the others are replicated."""
        return self._layout(root) == "replicated" and any(self._layout(one) is None for one in root.fields.values())

    def _unmapped(self, node: ast.expr, parts: Sequence[AbstractValue | None]) -> list[AbstractValue | None]:
        """The outputs of a site that have no device axis: one value for all devices."""
        pairs = zip(parts, self.places[node], strict=True)
        return [part for part, place in pairs if results.axis_of_output(self.it, node, place) is None]

    def _drop_parts(self, group: Group | None, part: AbstractValue, node: ast.expr, index: int) -> bool:
        """The fields of an output that may differ between devices, all of it where they cannot be told apart."""
        assert group is not None
        fields, root = part.fields or {}, group.find()
        rest = fields.get(OTHERS)
        if not fields or (rest is not None and rest.level != Level.NO) or not self._is_mixable(root):
            return self._drop(group, self._varies(part, node, index))
        named = [(self._field(root, name), name, one) for name, one in fields.items() if name != OTHERS]
        varying = [
            (field, name, one)
            for field, name, one in named
            if one.level != Level.NO and not self._is_observed(node, index, one, name)
        ]
        news = [self._drop(field, self._varies(one, node, index, name)) for field, name, one in varying]
        return any(news)

    def _varies(self, part: AbstractValue, node: ast.expr, index: int, name: str = "") -> Reason | Blocker:
        """Why an output, or a field of it, stays stacked: of which mapped function matters, where several share it."""
        behind = self._behind(node, index, name)
        if behind:
            return behind
        module = self.it.sites[node].module
        if part.level == Level.YES:
            return Blocker(
                Stacked.PER_DEVICE.reason("differs between devices when the mapped function returns it"), module, node
            )
        said = Stacked.NOT_PROVEN.reason("cannot be proven replicated when the mapped function returns it")
        blocker = Blocker(said, module, node, _depends(part.cause, module), Remedy("equal"))
        self.result_of[blocker] = self._result_name(node, index)
        return blocker

    def _behind(self, node: ast.expr, index: int, name: str) -> Reason | Blocker | None:
        """Why an argument stays stacked without which an output would not: it would be replicated for all else."""
        given = self._given(node)
        reasons = [
            next((why for one in self._parts(node, i) if (why := self._spoils(one))), None) for i in range(len(given))
        ]
        if not any(reasons):
            return None
        hoped = [self._hoped(node, i, one) if reasons[i] else one for i, one in enumerate(given)]
        part = results.parts_at(results.returned(self.it, node, hoped), self.places[node], self.named[node])[index]
        if part is None or (field_of(part, name) if name else part).level != Level.NO:
            return None
        return next(why for why in reasons if why)

    def _parts(self, node: ast.expr, index: int) -> list[Group | None]:
        """The groups of the parts of an argument, or its own; None for what is in no group."""
        size = self._size(node, index)
        return [self._argument(node, index, i) for i in range(size)] or [self._argument(node, index)]

    def _hoped(self, node: ast.expr, index: int, given: AbstractValue) -> AbstractValue:
        """An argument as it would be if nothing that is replicated for all else stayed stacked."""
        if not self._size(node, index) or given.parts is None:
            return replace_var(given, level=Level.NO, fields=None)
        pairs = zip(given.parts, self._parts(node, index), strict=True)
        return tuple_of([replace_var(one, level=Level.NO) if self._spoils(group) else one for one, group in pairs])

    def _spoils(self, group: Group | None) -> Reason | Blocker | None:
        """Why arrays that nothing but that keeps from being replicated stay stacked, all or some fields of them."""
        root = group.find() if group is not None else None
        if root is None or not self.kinds_of(root) <= REPLICABLE:
            return None
        for one in (*self.family_of(root), *(field.find() for field in root.fields.values())):
            if why := self._held_by(one):
                return why if self.kinds_of(one) <= REPLICABLE else None
        return None

    def _drop_mixed(self) -> bool:
        """Objects whose fields have several layouts that cannot be written as one; fields of stacked objects."""
        changed = False
        for root in [c for c in self.kinds if c.fields]:
            layout, module = self._layout(root), self._module_of(root)
            fields = [*root.fields.values()]
            if layout is not None and all(self._layout(group) is None for group in fields):
                changed |= self._drop(root, self._reason(fields[0], module))
            for group in fields:
                own = self._layout(group)
                if own is None and layout is not None and not self._is_mixable(root):
                    changed |= self._drop(root, self._reason(group, module))
                elif own is not None and own != layout:
                    beside = layout is not None and "split" in self.kinds_of(group.find())
                    changed |= self._drop(group, SPLIT_FIELD if beside else self._reason(root, module))
        return changed

    def _drop_moved(self) -> bool:
        """Slices of which arrays are stacked again, from which flax takes one slice by how they lie on the devices.

        A slice of a global array lies on all devices, and so does what is computed from it.
        """
        changed = False
        for op in self.lookers:
            for maker in self.makers.get(op.group.find(), ()):
                inner = operations.slices_in(self.it, maker.operand, maker.module)
                if self._layout(op.group) is None:
                    for one in inner:
                        changed |= self._drop(
                            one.group,
                            Stacked.READ_ON_HOST.reason(
                                "is unstacked, and flax then reads the `.sharding` of the result, which would change"
                            ),
                        )
                elif not all(operations.is_on_one_device(self.it, one) for one in inner):
                    changed |= self._drop(
                        op.group,
                        Stacked.READ_ON_HOST.reason("is stacked from replicated arrays, whose `.sharding` flax reads"),
                    )
        return changed

    def _drop_useless(self) -> bool:
        """Groups that no mapped function takes or gives."""
        changed = False
        for root in self.kinds:
            kinds = self.kinds_of(root).union(*(self.kinds_of(one.find()) for one in root.fields.values()))
            if not kinds & {"argument", "output"}:
                changed |= self._drop(root, Stacked.MAP_STAYS.reason("reaches no mapped function"))
        return changed

    # Results

    def _is_donated(self, group: Group) -> bool:
        given = [key for key in self.keys_of(group.find()) if key[0] == "argument"]
        return any(key[2] in (self.facts.positions(cast("ast.expr", key[1]), "donate_argnums") or ()) for key in given)

    def _axis_for(self, group: Group) -> str:
        root = group.find()
        for key in (*self.keys_of(root), *(k for one in root.fields.values() for k in self.keys_of(one.find()))):
            return self.facts.axis(key[1]) or self.axis  # type: ignore[arg-type]
        return self.axis

    def _choice(self, node: ast.expr) -> SiteChoice:
        site = self.it.sites[node]
        count = max(self.facts.counts.get(node, 0), 0)
        axes = self.facts.in_axes(node) or (0,) * count
        arguments = tuple(self._argument_choice(node, i, axis, site.module) for i, axis in enumerate(axes))
        places = self.places[node]
        outputs = tuple(self._output_choice(node, place, site.module) for place in places)
        by_rows = node in self.by_rows
        squeezes = self._squeezes(node, arguments) if not by_rows else ()
        keywords, axis = self.it.maps.by_keyword.get(node, ()), self.facts.axis(node) or ""
        whole, blocked = places == ((),), self.blocked[node]
        gives = {place: made for place, cls in self.named[node].items() if (made := self._named_tuple(cls, node))}
        apart = (why for assumed in self.it.assumed.apart.values() for why in assumed)
        tree, leans = Outputs(places, gives), tuple(dict.fromkeys((*self.facts.leans.get(node, ()), *apart)))
        why, hint = told(blocked, site.module) if blocked else None, advice.advice(self.it, blocked)
        return SiteChoice(site, arguments, outputs, whole, axis, why, squeezes, keywords, by_rows, tree, leans, hint)

    def _squeezes(self, node: ast.expr, arguments: Sequence[Choice]) -> tuple[Squeeze, ...]:
        stacked = [i for i, c in enumerate(arguments) if c.layout == "stacked"]
        arrays = all(("tree", node, i) not in self.it.variables for i in stacked)
        function = mapped_bodies.only_function(self.it, node) if stacked and arrays else None
        names = mapped_bodies.parameters(self.it, node, function, len(arguments)) if function is not None else {}
        if function is None or not all(i in names for i in stacked):
            return ()
        return tuple(Squeeze(i, function, names[i]) for i in stacked)

    def _argument_choice(self, node: ast.expr, index: int, axis: int | None, module: Module) -> Choice:
        if axis is None:
            static = self.facts.positions(node, "static_broadcasted_argnums") or ()
            return Choice("static" if index in static else "broadcast")
        size = self._size(node, index)
        if size:
            return of_parts([self._part_choice(node, (index, i), module) for i in range(size)])
        return self._part_choice(node, (index,), module)

    def _part_choice(self, node: ast.expr, place: tuple[int, ...], module: Module) -> Choice:
        """The layout of an argument under axis 0, or of a part of one that is a tuple."""
        group = self._argument(node, *place)
        layout = self._layout(group)
        if group is None and self._is_none(node, *place):
            return Choice("broadcast")
        if layout is None:
            return self._stacked(group, module, advice.of_plain(self.it, node, place) if group is None else None)
        fields = self._stacked_fields(group, module)
        choice = Choice(layout, leans=self._leans_of(group), ops=self._ops_of(group))
        if group is None or not fields:
            return choice
        return replace(choice, fields=fields, method=self._method(group.find()), of=self._of(group, node))

    def _is_none(self, node: ast.expr, index: int, *part: int) -> bool:
        """Whether every call of a map gives None in one place: a tree without arrays, for which any spec will do."""
        if node in self.it.blockers.escaped or ("plain", node, index, *part) in self.it.variables:
            return False
        given = [call.arguments for call in self.it.maps.calls.values() if call.site is node]
        values = [one[index] for one in given if index < len(one)]
        for i in part:
            values = [one.parts[i] for one in values if isinstance(one, Tup)]
        return bool(values) and all(isinstance(value, Nothing) and value.none for value in values)

    def _output_choice(self, node: ast.expr, place: Place, module: Module) -> Choice:
        if results.axis_of_output(self.it, node, place) is None:
            return Choice("broadcast")
        group = self.it.groups.get(("output", node, place))
        layout = self._layout(group)
        if layout is None:
            return self._stacked(group, module, None)
        fields = self._stacked_fields(group, module)
        alike = (i for i in range(self.facts.counts[node]) if fields and self._is_one(self._argument(node, i), group))
        of = self._of(group, node) if fields else None
        leans, ops = self._leans_of(group), self._ops_of(group)
        return Choice(layout, fields=fields, like=next(alike, 0), of=of, leans=leans, ops=ops)

    @staticmethod
    def _is_one(one: Group | None, other: Group | None) -> bool:
        return one is not None and other is not None and one.find() is other.find()

    def _ops_of(self, group: Group | None) -> frozenset[tuple[ast.expr, str]]:
        """The operations on the arrays of a group, and on the objects that these are in."""
        family = self.family_of(group.find()) if group is not None else []
        return frozenset((op.node, op.kind) for op in self.it.operations.ops.values() if op.group.find() in family)

    def _leans_of(self, group: Group | None) -> tuple[Assumption, ...]:
        """What the layout of a group, its fields and the objects that it is in rest on beside proof."""
        if group is None:
            return ()
        family = self.family_of(group.find())
        every = [*family, *(field.find() for one in family for field in one.fields.values())]
        keys = {(key[1], key[2]) for one in every for key in self.touching.get(one, ()) if key[0] == "output"}
        own = [why for (site, i), all_ in self.assumed.items() if (site, self.places[site][i]) in keys for why in all_]
        seen = [whys for (site, i), whys in self.observed.items() if (site, self.places[site][i]) in keys]
        own += [why for whys in seen for why in whys.values()]
        return tuple(dict.fromkeys((*(why for one in every for why in one.leans), *own)))

    def _stacked(self, group: Group | None, module: Module, plain: Blocker | None) -> Choice:
        """An array that stays stacked, with what to do about that."""
        family = self.family_of(group.find()) if group is not None else []
        why = plain or next((w for one in family if (w := self._held_by(one))), None)
        story = tuple(advice.story(self.it, group, why, family, module))
        reason = told(plain, module) if plain is not None else self._reason(group, module)
        equal = self.result_of.get(why, "") if why is not None else ""
        return Choice("stacked", reason, advice=advice.advice(self.it, why, equal), story=story)


def _reaching(why: Reason | Blocker) -> Reason | Blocker:
    """What keeps the arrays of a mapped function stacked that stays as it is."""
    reason = why.reason if isinstance(why, Blocker) else why
    reached = Stacked.MAP_STAYS.reason(f"reaches a mapped function that stays as it is: {reason}", reason.topic)
    return replace(why, reason=reached) if isinstance(why, Blocker) else reached


def _index(place: Place) -> str:
    """An output in the words of a declaration: `[0]`."""
    return "".join(f"[{part}]" for part in place)


LONGEST_NAME = 40  # of what stands in a reason


def _depends(cause: Cause, module: Module) -> str:
    """What an output may depend on that cannot be told, where that has a name."""
    called = ast.unparse(cause.node.func) if isinstance(cause.node, ast.Call) else cause.name
    name = cause.name if len(called) > LONGEST_NAME else called
    if not name and cause.host and cause.node is not None:
        name = ast.unparse(cause.node)  # a test
    if not name:
        return ""
    what = f"{name}, which may differ between processes" if cause.host else f"the result of {name}"
    if cause.node is None:
        return f": it may depend on {what}"
    return f": it may depend on {placed(what, cause.node, cause.module or module, module)}"


def _is_only_unknown(value: AbstractValue) -> bool:
    """Whether nothing that can be named makes a value differ between devices, or draws it."""
    return value.level != Level.YES and not value.cause.name
