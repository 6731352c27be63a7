"""Flags that a mapped function asks where it is traced, of which the code that maps it has one outcome.

`if use_pmap: grads = pmean(grads, "batch")` in a step that is mapped only where `use_pmap` holds: that it leaves the
gradients as they are is no way that the map can take.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.flow.layout import object_flags, outcomes, several_devices
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.program.once import once
from jaxmigrate.program.scopes import walk
from jaxmigrate.program.values import Function, Value

Held = tuple[tuple[ast.expr, bool], ...]


@once
def _makers(_it: Interpreter) -> dict[ast.expr, dict[object, Frame]]:
    """The bodies that make a site, for each outcome of their flags for which they do."""
    return {}


def note_made(it: Interpreter, site: ast.expr, frame: Frame) -> None:
    """A site is made in a body."""
    known = _makers(it).setdefault(site, {})
    key = (frame.function.node if frame.function is not None else None, frame.assumed)
    if key not in known:
        known[key] = Frame(frame.module, frame.scope, frame.function, None, None, frame.assumed)
        it.touch(("site", site))


def held(it: Interpreter, site: ast.expr, function: Value) -> Held:
    """The tests of a mapped function that certainly turn out in one way, with that way."""
    return several_devices.in_traced(it) + _held_by_makers(it, site, function)


def _held_by_makers(it: Interpreter, site: ast.expr, function: Value) -> Held:
    makers = [*_makers(it).get(site, {}).values()]
    if not makers or not isinstance(function, Function) or not all(maker.assumed for maker in makers):
        return ()
    key = site, function, len(makers), len(it.modules)  # other modules may set a flag
    if key not in _held(it):
        asking = (node.test for node in walk(function.node) if isinstance(node, ast.If | ast.IfExp))
        _held(it)[key] = tuple(_answers(it, site, function, asking, makers))
    return _held(it)[key]


@once
def _held(_it: Interpreter) -> dict[object, Held]:
    """The tests of mapped functions that turn out in one way, as far as so many makers and modules tell."""
    return {}


def _answers(
    it: Interpreter, site: ast.expr, function: Function, asking: Iterator[ast.expr], makers: list[Frame]
) -> Iterator[tuple[ast.expr, bool]]:
    for test in asking:
        found = {_answer(it, site, function, test, maker) for maker in makers}
        truth = found.pop() if len(found) == 1 else None
        if truth is not None:
            yield test, truth


def _answer(it: Interpreter, site: ast.expr, function: Function, test: ast.expr, maker: Frame) -> bool | None:
    proven = frozenset(one for one in maker.assumed if one[0].proven)
    if not proven or maker.module is not function.module:
        return None
    known = Frame(maker.module, maker.scope, maker.function, None, None, proven)
    if object_flags.class_of(function) is None:
        return outcomes.holds(it, test, known)
    mapped = it.sites[site].mapped
    if mapped is None or mapped.expression is None or not object_flags.is_of_receiver(mapped.expression, known):
        return None
    return outcomes.holds(it, test, known, function)
