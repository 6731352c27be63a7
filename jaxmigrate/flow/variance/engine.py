"""Reads a function's body under a map: the way in, where the transfer functions come together."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from jaxmigrate.flow.variance import calls, expressions
from jaxmigrate.flow.variance.frames import Arguments
from jaxmigrate.flow.variance.lattice import GIVEN, AbstractValue, Fields, Level, mapped, replace, union, unsure
from jaxmigrate.flow.variance.library import HOST_IDENTITIES
from jaxmigrate.flow.variance.mode import PROOF, Mode
from jaxmigrate.flow.variance.name_call_graph import NameCallGraph
from jaxmigrate.flow.variance.process_modules import ProcessModules
from jaxmigrate.flow.variance.process_taint import ProcessTaint
from jaxmigrate.flow.variance.run import OUTSIDE, Run, Shared, Transfers
from jaxmigrate.flow.variance.summary import Reading
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Function, Partial, Value

TRANSFERS = Transfers({**expressions.HANDLERS, ast.Call: calls.call}, calls.apply, calls.known_callee)


def read(
    function: Value,
    arguments: Sequence[AbstractValue],
    axes: frozenset[str],
    resolver: Resolver,
    named: Mapping[str, AbstractValue] = MappingProxyType({}),
    mode: Mode = PROOF,
) -> Reading:
    """Reads a function called with these arguments on every device of a map over `axes`.

    `function` is anything callable that the resolver gives: a function, a partial, a transformation of one, a bound
    method, an object with `__call__`. A level NO in what is returned is a proof, for the programs that design.md
    describes and but for what the mode takes for granted, that all devices hold equal values if they do in every
    argument at NO. An argument without structure is taken to be at its level in every leaf. What is not understood is
    at MAY; nothing is raised.
    """
    given = Arguments(
        tuple(_argument(value, index) for index, value in enumerate(arguments)),
        Fields({name: _argument(value, name) for name, value in named.items()}),
    )
    spilled: Level | None = None
    while True:
        run = Run(TRANSFERS, axes, resolver, _share(resolver), mode, _home(function), spilled)
        _read(run, function, given)
        run.reading.entered = run.entered
        if run.spills is None or mode.lenient or (spilled is not None and spilled >= run.spills):
            return run.reading
        spilled = run.spills  # something outside was changed: read again, trusting nothing that can have been changed


def from_outside(value: AbstractValue, index: int) -> AbstractValue:
    """A static argument: an object as the caller has it, of any class, that outlives the call; no tree made anew."""
    return replace(value, places=value.places | {(OUTSIDE, ("argument", index))})


def introduces_variance(resolver: Resolver, axes: frozenset[str], name: str = "") -> bool:
    """Whether a function that the program may have stored somewhere tells devices apart over the axes."""
    return _share(resolver).hidden.introduces_variance(name, axes)


def loaded_beside(resolver: Resolver, module: Module) -> frozenset[Module]:
    """The modules that may be loaded in a process that runs a function of one, itself included."""
    return _share(resolver).hidden.loaded.beside(module)


@once
def _share(resolver: Resolver) -> Shared:
    loaded = ProcessModules(resolver)
    identities = ProcessTaint(resolver, loaded, HOST_IDENTITIES)
    return Shared(NameCallGraph(resolver, loaded), ProcessTaint(resolver, loaded), callers_of(resolver), identities)


def _read(run: Run, function: Value, given: Arguments) -> None:
    """Calls the function once, with what the run knows before it."""
    try:
        run.reading.returned = run.apply(AbstractValue(static=function), given, None)
    except RecursionError:
        run.gave_up = True
    if run.gave_up or (run.mode.proves and run.shared.hidden.acts_unseen(run.axes, run.home)):
        run.reading.returned = unsure(union(given.all()))


def _home(function: Value) -> Module | None:
    """The module of a function, in whatever it is wrapped; None where that is not known."""
    while isinstance(function, Partial):
        function = function.callee
    return function.module if isinstance(function, Function) else None


def _argument(value: AbstractValue, place: object) -> AbstractValue:
    """An argument: its leaves are at its level, and its containers are its own."""

    def own(one: AbstractValue) -> AbstractValue:
        bare = one.parts is None and one.fields is None and one.kind == "unknown"
        one = replace(one, marks=one.marks | {GIVEN})
        tree = replace(one, kind="tree") if bare and one.level == Level.YES else one
        return tree if tree.kind == "array" else replace(tree, places=tree.places | {("argument", place)})

    return mapped(value, own)
