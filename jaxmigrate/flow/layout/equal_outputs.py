"""Outputs that are taken to be equal on all devices although that is not proven: declared, likely, observed ones."""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout import initializers, mapped_bodies, objects, observing, presuming, results
from jaxmigrate.flow.layout.groups import Groups
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Place
from jaxmigrate.flow.layout.values import Group
from jaxmigrate.flow.variance import AbstractValue, Level
from jaxmigrate.flow.variance.lattice import EQUAL, OTHERS, Cause, Fields, field_of
from jaxmigrate.flow.variance.lattice import replace as replace_var
from jaxmigrate.program.sites import axis_of
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Function, Member, Partial, Unknown

LONGEST_NAME = 40  # of what stands in a reason


class EqualOutputs(Groups):
    """The groups of a program, and what speaks beside proof for outputs that are equal on all devices."""

    def __init__(self, it: Interpreter, axis: str, processes: bool) -> None:
        super().__init__(it, axis, processes)
        self.assumed: dict[tuple[ast.expr, int], tuple[Assumption, ...]] = {}  # why outputs are taken for equal
        self.observed: dict[tuple[ast.expr, int], dict[str, Assumption]] = {}  # the same of a run, and of their fields

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
        if self._is_stepped_unseen(node, index):
            return EQUAL, (self._initialized(node, index, "keeps its state the same on every device"),)
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
        return node in self.it.assumed.reducing and self._comes_back(node, index)

    def _comes_back(self, node: ast.expr, index: int) -> bool:
        """Whether an output is a training state by its name, which the map gets back."""
        output = self._outputs(node)[index]
        return output is not None and any(self._is_in(node, at, output) for at in presuming.states(self.it, node))

    def _is_stepped_unseen(self, node: ast.expr, index: int) -> bool:
        """Whether an output is a training state that a step out of sight was given, along the axis of the map.

        The program makes it equal on all devices, and takes one of its slices for all of it.
        """
        output = self._outputs(node)[index]
        if (
            output is None
            or not {"replicate", "first"} <= self.kinds_of(output.find())
            or not self._comes_back(node, index)
        ):
            return False
        if axis_of(self.it.sites[node], self.it.resolver) is None:
            return False
        function = results.only_value(self.it, node)
        function = function.callee if isinstance(function, Partial) else function
        if isinstance(function, Function):
            return presuming.steps_unseen(self.it, function, self.places[node][index])
        return isinstance(function, Member | Unknown)

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
        keeps = initializers.keeps_statistics(self.it.sites[node].module, self.it)
        if not part.fields or (learned and _is_only_unknown(trusted)):
            own = not _is_only_unknown(trusted) or (
                not learned and initializers.keeps_statistics(self.it.sites[node].module, self.it)
            )
            return (part, ()) if own else (EQUAL, (why,))
        kept = {
            name
            for name in part.fields
            if _is_only_unknown(field_of(trusted, name)) and (objects.is_learned(name) or name == OTHERS)
        }
        if keeps:
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


def _index(place: Place) -> str:
    """An output in the words of a declaration: `[0]`."""
    return "".join(f"[{part}]" for part in place)


def _is_only_unknown(value: AbstractValue) -> bool:
    """Whether nothing that can be named makes a value differ between devices, or draws it."""
    return value.level != Level.YES and not value.cause.name
