"""What a solved program comes to: the layouts of all sites, and of what makes and takes apart their arrays."""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import cast

from jaxmigrate.flow.layout import advice, foreign_bases, made_arrays, mapped_bodies, results
from jaxmigrate.flow.layout.aligned import aligned, marked
from jaxmigrate.flow.layout.barriers import barriers
from jaxmigrate.flow.layout.buffers import is_written
from jaxmigrate.flow.layout.choices import (
    Choice,
    Layouts,
    Name,
    NamedTuple,
    OpChoice,
    Outputs,
    SiteChoice,
    Squeeze,
    of_parts,
)
from jaxmigrate.flow.layout.entering import entering
from jaxmigrate.flow.layout.groups import ON_ONE_PROCESS
from jaxmigrate.flow.layout.model import Keys, Op, Place
from jaxmigrate.flow.layout.solve import Solver
from jaxmigrate.flow.layout.values import Blocker, Group, Nothing, Tup, told
from jaxmigrate.flow.layout.whole_arguments import WholeArguments
from jaxmigrate.program.modules import Module
from jaxmigrate.program.trust import Assumption

TAKES = frozenset(
    {"averaged", "first", "inner", "listed", "merge", "metrics", "size", "taken", "type", "whole"}
)  # and lay out nothing


class Solution(Solver):
    """The solved groups of a program as plain data."""

    def solution(self) -> Layouts:
        """The layouts of all sites, and of what makes and takes apart their arrays."""
        choices = {node: self._choice(node) for node in self.it.sites}
        held = {op.group.find() for op, node in self.in_helpers if self._runs_as_it_is(node)}
        stacked = [root for root in {**self.kinds, **self.owners} if not self.is_global(root) and root not in held]
        over_all = aligned(self, choices, stacked, self.guarded) if self.processes else set[Group]()
        result = Layouts({node: marked(self, choice, over_all) for node, choice in choices.items()})
        result.parted = self.processes and any(map(self._is_parted, self.kinds))
        for call in self.it.maps.calls.values():
            by_keyword = call.node.keywords and call.node not in self.it.wrappers.padded_calls
            if by_keyword and not result.sites[call.site].keywords and result.sites[call.site].is_global:
                result.calls.append(call)
        for op in self.it.operations.ops.values():
            layout = "stacked" if op.group.find() in over_all else self._layout(op.group)
            if layout is not None:
                result.ops.append(self._op_choice(op, layout, over_all))
        barriers(self, result)
        entered = entering(self, result) if self.facts.apart and self.facts.several else {}
        result.together = self._together(result, over_all, entered)
        result.ops += (op for ops in entered.values() for op in ops)
        return result

    def _is_parted(self, root: Group) -> bool:
        """Whether host code does what it can do with a whole array alone, and nothing else is known to hold it."""
        if root.blockers or root in self.dropped or self._own(root) is not None:
            return False
        return bool(self.kinds_of(root) & ON_ONE_PROCESS - {"output"}) or not self.shown.isdisjoint(
            self.family_of(root)
        )

    def _op_choice(self, op: Op, layout: Name, over_all: Collection[Group]) -> OpChoice:
        root = op.group.find()
        fields = tuple(name for name, _ in self._stacked_fields(root, op.module))
        method = self._method(root) if fields else ""
        cls = self.classes.get(root)
        names = self.it.resolver.declared_fields(cls) if cls is not None and fields else ()
        rest = tuple(name for name in names if name not in fields)
        own = frozenset(name for name in fields if self._field(root, name).find() in over_all)
        for_all = op.kind == "first" and op.node in self._given_whole
        lent = op.kind == "first" and layout == "replicated" and self._whole.is_one(op.node, op.module)
        donated, axis = self._is_donated(root), self._axis_for(root)
        written = self._is_written(op)
        numbers = op.kind == "averaged" and self._are_numbers(root)
        return OpChoice(
            op, layout, axis, donated, fields, method, rest, own, for_all, lent, written=written, of_numbers=numbers
        )

    def _are_numbers(self, root: Group) -> bool:
        """Whether all arrays of a group are evidently one number on each device, as some maps give them."""
        keys = self.keys_of(root)
        return bool(keys) and all(
            key[0] == "output" and self._is_number(cast("ast.expr", key[1]), cast("Place", key[2])) for key in keys
        )

    def _is_written(self, op: Op) -> bool:
        """Whether the program writes in place into what an operation lays out; no array of JAX's can be written."""
        if op.kind in TAKES or not isinstance(op.operand, ast.expr):
            return False
        return not made_arrays.makes_jax_array(self.it.resolver, op.operand, op.module) and is_written(
            self.it, op.operand, op.module
        )

    @functools.cached_property
    def _whole(self) -> WholeArguments:
        return WholeArguments(self)

    @functools.cached_property
    def _given_whole(self) -> frozenset[ast.expr]:
        """What mapped functions are given without a device axis, as in `step(unreplicate(w), x)`."""
        return frozenset(
            place
            for call in self.it.maps.calls.values()
            for place, axis in zip(call.given, self.facts.in_axes(call.site) or (), strict=False)
            if axis is None
        )

    def _together(
        self, result: Layouts, over_all: Collection[Group], entered: Mapping[ast.expr, Sequence[OpChoice]]
    ) -> list[frozenset[Module]]:
        """The modules whose texts change for the same arrays, for each group of arrays and each mapped function."""
        found: dict[object, set[Module]] = {}
        for node, choice in result.sites.items():
            if not (choice.is_global or choice.at_calls):
                continue
            module = choice.site.module
            found[node] = {module, *(s.function.module for s in choice.squeezes)}
            found[node] |= {call.module for call in result.calls if call.site is node}
            found[node] |= {choice.op.module for choice in entered.get(node, ())}
            for _, root in self.with_groups(choice):
                if root is not None and (self.is_global(root) or root in over_all):
                    for one in self.family_of(root):
                        found.setdefault(one, set()).add(module)
        for op in (choice.op for choice in result.ops):
            for one in self.family_of(op.group.find()):
                found.setdefault(one, set()).add(op.module)
        return list(dict.fromkeys(frozenset(modules) for modules in found.values() if len(modules) > 1))

    def _is_donated(self, group: Group) -> bool:
        given = [key for key in self.keys_of(group.find()) if key[0] == "argument"]
        return any(key[2] in (self.facts.positions(cast("ast.expr", key[1]), "donate_argnums") or ()) for key in given)

    def _axis_for(self, group: Group) -> str:
        root = group.find()
        for key in (*self.keys_of(root), *(k for one in root.fields.values() for k in self.keys_of(one.find()))):
            return self.facts.axis(key[1]) or self.axis  # type: ignore[arg-type]
        return self.axis

    @functools.cached_property
    def _leans_of_all(self) -> tuple[Assumption, ...]:
        """What is taken for granted of the program as a whole: of those who could use its modules, and its objects."""
        apart = (why for assumed in self.it.assumed.apart.values() for why in assumed)
        return (*apart, *foreign_bases.leans(self.it))

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
        gives: dict[Place, NamedTuple | Keys] = {}
        for place, record in self.named[node].items():
            made = record if isinstance(record, Keys) else self._named_tuple(record, node)
            gives |= {place: made} if made is not None else {}
        leans = tuple(dict.fromkeys((*self.facts.leans.get(node, ()), *self._leans_of_all)))
        why, hint = told(blocked, site.module) if blocked else None, advice.advice(self.it, blocked)
        tree = Outputs(places, gives)
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
        own += [why for one in every for why in self.by_all(one) if why is not None] if self.processes else []
        return tuple(dict.fromkeys((*(why for one in every for why in one.leans), *own)))

    def _stacked(self, group: Group | None, module: Module, plain: Blocker | None) -> Choice:
        """An array that stays stacked, with what to do about that."""
        family = self.family_of(group.find()) if group is not None else []
        why = plain or self._why(group)
        story = tuple(advice.story(self.it, group, why, family, module))
        reason = told(why, module)
        equal = self.result_of.get(why, "")
        given = any(key[0] == "argument" for one in family for key in self.keys_of(one))
        hint = advice.advice(self.it, why, equal, given=given)
        return Choice("stacked", reason, advice=hint, story=story)
