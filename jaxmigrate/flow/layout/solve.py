"""Which groups of arrays change their representation: the largest choice in which every piece is proven."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from jaxmigrate.flow.layout import advice, on_lists, operations, results, tree_methods, unfollowed_calls
from jaxmigrate.flow.layout.causes import NOT_FULL, NOT_ONE, Reason, Stacked
from jaxmigrate.flow.layout.equal_outputs import LONGEST_NAME, EqualOutputs
from jaxmigrate.flow.layout.groups import REPLICABLE, SLICED, SPLIT_FIELD
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.listed_devices import ListedDevices
from jaxmigrate.flow.layout.model import Keys, Op, Place
from jaxmigrate.flow.layout.numbers import gives_number
from jaxmigrate.flow.layout.some_devices import SomeDevices
from jaxmigrate.flow.layout.values import Blocker, Group, Remedy, placed
from jaxmigrate.flow.variance import AbstractValue, Level
from jaxmigrate.flow.variance.lattice import OTHERS, Cause, field_of, tuple_of
from jaxmigrate.flow.variance.lattice import replace as replace_var
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.sites import mapped_values

OTHER_METHOD = Stacked.MAP_STAYS.reason("its object may be of a class that has another method of that name")
RESULTS = {"output", "first", "metrics"}
_IN_HELPER = Stacked.MAP_STAYS.reason("is stacked or unstacked in a function that also runs on other arrays")
UNDER_NONE = Stacked.MIXED.reason("is a stacked array under in_axes=None")


@dataclass(frozen=True)
class Setup:
    """How a program runs: perhaps as several `processes`, and `guarded` where it asks which of them it is.

    `several`: it says that it does. `axis` names the mapped axes that have no name. `own`: all maps are given the
    devices of their process, or `some` devices, or those of `lists` that it makes as it runs. `whole` are maps for
    which objects have one layout for all fields. `alone`: where likely counts, it is taken for one process.
    """

    axis: str
    processes: bool
    guarded: bool
    several: bool = True
    own: bool = False
    some: SomeDevices | ListedDevices | None = None
    whole: frozenset[ast.expr] = frozenset()
    alone: bool = False
    lists: ListedDevices | None = None

    @property
    def certain(self) -> bool:
        """Whether nothing has to be assumed of the lists."""
        return self.lists is not None and self.lists.is_certain


class Solver(EqualOutputs):
    """Starts from all groups global and drops those that something speaks against, until nothing does."""

    def __init__(self, it: Interpreter, setup: Setup) -> None:
        super().__init__(it, setup.axis, setup.processes)
        self.facts.several = setup.several
        self.facts.apart = setup.processes and not setup.own
        self.facts.own = setup.own and setup.some is None
        self.guarded = setup.guarded
        self.whole = setup.whole
        self.lists = setup.some if isinstance(setup.some, ListedDevices) else None
        self.blocked = {site: self.facts.blocked(site) for site in it.sites}
        if self.lists is not None and not self.lists.is_certain:
            for node in it.sites:
                self.facts.leans.setdefault(node, {})[self.lists.assumption()] = None
        self.result_of: dict[Reason | Blocker, str] = {}  # what a declaration calls the output that a reason is about
        self.by_rows: set[ast.expr] = set()  # sites that may be called with slices for fewer devices than there are
        self.in_helpers = self._in_helpers()
        tests = (
            self._block,
            self._block_other_methods,
            self._drop_numbers,
            self._drop_varying,
            self._drop_useless,
            self._drop_mixed,
            self._drop_moved,
            self._drop_unlisted,
            self._drop_in_helpers,
        )
        while any(test() for test in tests):
            pass

    def is_global(self, group: Group) -> bool:
        """Whether the arrays of a group lose their leading axis."""
        return self._layout(group) is not None

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
                if self._gives_results(node) and self.lists is None:
                    changed |= node not in self.by_rows
                    self.by_rows.add(node)
                else:
                    self.blocked[node] = self._not_full(node)
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

    def _block_other_methods(self) -> bool:
        """Sites that map methods of trees of arrays, where an object may be of a class that has another such method."""
        changed = False
        for call in self.it.maps.calls.values():
            root = self._argument(call.site, 0)
            cls = (self.classes.get(root.find()) or self.states.get(root.find())) if root is not None else None
            if self.blocked[call.site] or not tree_methods.gives_other(self.it, call, cls):
                continue
            if self.it.trust.likely and cls is None and tree_methods.is_only(self.it, call.site):
                self.it.leans = True
                why = tree_methods.assumption(self.it, call.site, call.node, call.module)
                self.facts.leans.setdefault(call.site, {})[why] = None
                continue
            self.blocked[call.site] = Blocker(OTHER_METHOD, call.module, call.node)
            changed = True
        return changed

    def _not_full(self, node: ast.expr) -> Reason | Blocker:
        """Why a map may run on fewer devices: the first argument of which nothing says how many slices it holds."""
        mapped = (i for i, axis in enumerate(self.facts.in_axes(node) or ()) if axis is not None)
        plain = (advice.of_plain(self.it, node, (i,)) for i in mapped if ("plain", node, i) in self.it.variables)
        why = next((one for one in plain if one is not None), None)
        return replace(why, reason=NOT_FULL) if why is not None else NOT_FULL

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
        if any(not isinstance(one, Keys) for one in self.named[node].values()):
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
            if any(not isinstance(one, Keys) for one in named.values()) and None in parts:
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

    def _drop_unlisted(self) -> bool:
        """Arrays that cannot lie on one of the lists of devices that the program makes."""
        if self.lists is None:
            return False
        blocked = {node for node, why in self.blocked.items() if why is not None}
        found = on_lists.kept_off(self.it, self.lists, self.of_site, blocked)
        dropped = [self._drop(group, why) for group, why in found]
        return any(dropped)

    def _drop_in_helpers(self) -> bool:
        """Arrays that code makes or takes apart which other calls run as it is, or to do something else."""
        changed = False
        callees = self.it.operations.callees
        for op in self.it.operations.ops.values():
            if any(len(callees.get((op.node, how), ())) > 1 for how in ("calls", "applies")):
                changed |= self._drop(op.group, Blocker(_IN_HELPER, op.module, op.node))
        for op, node in self.in_helpers:
            if self._runs_as_it_is(node):
                changed |= self._drop(op.group, Blocker(_IN_HELPER, op.module, op.node))
        return changed

    def _runs_as_it_is(self, node: ast.expr) -> bool:
        """Whether an expression that runs a helper stays what it is."""
        own = self.it.operations.ops.get(node)
        return own is None or self._layout(own.group) is None

    def _in_helpers(self) -> list[tuple[Op, ast.expr]]:
        """Each operation in a helper, with each expression that runs that helper and is not followed there."""
        run: dict[FunctionNode, list[ast.expr]] = {}
        for node, functions in self.it.operations.unfollowed.items():
            for function in functions:
                run.setdefault(function, []).append(node)
        return [
            (op, node)
            for op in self.it.operations.ops.values()
            for function in unfollowed_calls.enclosing(op.node, op.module)
            for node in run.get(function, ())
            if node is not op.node
        ]

    def _drop_useless(self) -> bool:
        """Groups that no mapped function takes or gives."""
        changed = False
        for root in self.kinds:
            kinds = self.kinds_of(root).union(*(self.kinds_of(one.find()) for one in root.fields.values()))
            if not kinds & {"argument", "output"}:
                changed |= self._drop(root, Stacked.MAP_STAYS.reason("reaches no mapped function"))
        return changed


def _reaching(why: Reason | Blocker) -> Reason | Blocker:
    """Why arrays stay stacked that reach a mapped function which keeps its own stacked."""
    reason = why.reason if isinstance(why, Blocker) else why
    reached = Stacked.MAP_STAYS.reason(
        f"reaches a mapped function that keeps its stacked arrays: {reason}", reason.topic
    )
    return replace(why, reason=reached) if isinstance(why, Blocker) else reached


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
