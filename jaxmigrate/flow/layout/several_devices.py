"""Tests that ask whether a program has more devices than one: `if jax.device_count() > 1`.

How many there are does not change while a program runs, so that all such tests hold or none does. The program is
followed as it runs on several devices, and once more as it runs on one: what both run is changed only in a way that is
right for both.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import cast

from jaxmigrate.flow.layout import class_index, unfollowed_calls
from jaxmigrate.flow.layout.causes import GIVES_BACK, NO_CALL, Stacked
from jaxmigrate.flow.layout.choices import Layouts, SiteChoice
from jaxmigrate.flow.layout.device_questions import asks
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Asked, Devices, Frame
from jaxmigrate.flow.layout.values import Abstract, Blocker
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Class, Function

_NAMED = ast.FunctionDef | ast.ClassDef
BY_NAME = frozenset({"__dict__", "eval", "exec", "getattr", "globals", "import_module", "locals", "vars"})
ONE_DEVICE = Stacked.MIXED.reason("is stacked here on several devices, and not on one")


def holds(it: Interpreter, test: ast.expr, module: Module) -> bool | None:
    """Whether a test holds on as many devices as the program is followed for; None where it asks for something else."""
    if it.devices is None:
        return None
    asked = _asks(it, test, module)
    if asked is None:
        return None
    it.devices.asked[test] = asked
    return asked.sense is it.devices.several(asked.local)


def _asks(it: Interpreter, test: ast.expr, module: Module) -> Asked | None:
    """What a test asks, looked into once for as many modules as take part: others that join may set what it reads."""
    known, modules = _asked(it), len(it.modules)
    if test not in known or known[test][0] != modules:
        known[test] = modules, asks(it, test, module)
    return known[test][1]


@once
def _asked(_it: Interpreter) -> dict[ast.expr, tuple[int, Asked | None]]:
    """What tests ask, with the number of modules that took part."""
    return {}


def pass_over(it: Interpreter, node: ast.If | ast.IfExp, frame: Frame) -> None:
    """Notes that what such a test leaves out reads nothing: one of its branches, or what follows a `return`."""
    devices = it.devices
    if devices is None or node in devices.passed or all(one not in devices.asked for one in ast.walk(node.test)):
        return
    devices.passed.add(node)
    it.mark_loads(frame.function.node if frame.function is not None else node)


def in_traced(it: Interpreter) -> tuple[tuple[ast.expr, bool], ...]:
    """The tests of a program that ask this, with their answers on several devices.

    On one device nothing differs between devices, whatever a mapped function leaves out there.
    """
    if it.devices is None:
        return ()
    known = _traced(it)
    if len(it.modules) not in known:
        tests = ((test, _asks(it, test, module)) for module in it.modules for test in _tested(module))
        every = [(test, asked) for test, asked in tests if asked is not None]
        it.devices.asked |= {test: asked for test, asked in every if asked.named is not None}
        known[len(it.modules)] = tuple((test, asked.sense) for test, asked in every)
    return known[len(it.modules)]


def lean(it: Interpreter, values: list[Abstract]) -> None:
    """Has what a map is given rest on what the numbers count that the program asks."""
    for asked in it.devices.asked.values() if it.devices is not None else ():
        if asked.named is not None and asked.module is not None:
            says = f"`{ast.unparse(asked.named)}` is the number of all devices"
            it.lean(values, Assumption("likely", "apart", "", says, asked.module, asked.named))


def fewer(it: Interpreter, *, processes: bool) -> list[Devices]:
    """What else a program has to be followed for that asks: one device in all, or one of each of several processes."""
    if it.devices is None or not it.devices.asked:
        return []
    roots = frozenset(cast("ast.AST", key[1]) for key in it.variables if key[0] == "unseen")
    local = {asked.local for asked in it.devices.asked.values()}
    ways = [(False, False), (False, True)] if processes and len(local) == 2 else [(False, False)]
    return [Devices(one, every, roots=roots, evaluated=set()) for one, every in ways]


def keep_what_both_run(it: Interpreter, fewer: Interpreter) -> None:
    """Keeps arrays stacked that code makes or takes apart which, on fewer devices, has others there."""
    ran, ops, handed = _evaluated(fewer), fewer.operations.ops, _handed_on(fewer)
    for place, op in it.operations.ops.items():
        runs_too = (op.node in ran or place in ran) and (place not in ops or ops[place].kind != op.kind)
        if runs_too or not handed.isdisjoint(unfollowed_calls.enclosing(op.node, op.module)):
            op.group.block(Blocker(ONE_DEVICE, op.module, op.node))
    it.maps.unmapped |= {call.node for call in it.maps.calls.values() if call.node in ran}


def _handed_on(it: Interpreter) -> set[FunctionNode]:
    """The functions that run on fewer devices where nobody follows them: those that are named, and not called there."""
    ran = _evaluated(it)
    defined = {node.name for module in it.modules for node in module.table.own_scope if isinstance(node, _NAMED)}
    given: list[Function] = []
    for module in it.modules:
        for name in defined & module.table.named.keys():
            for node in module.table.named[name]:
                parent = module.table.parents.get(node)
                called = isinstance(parent, ast.Call) and parent.func is node
                if node not in ran or called or (isinstance(parent, ast.Attribute) and parent.value is node):
                    continue
                for value in it.resolver.values(node, module):
                    given += [value] if isinstance(value, Function) else []
                    given += class_index.methods_of(it, it.root(value)) if isinstance(value, Class) else []
    for function in it.blockers.gone:
        given += [function] if isinstance(function, Function) else []
    given += (function for root in it.blockers.blocked_classes for function in class_index.methods_of(it, root))
    for module in it.blockers.modules:
        given += [Function(module, node) for node in module.table.own_scope if isinstance(node, FunctionNode)]
    found = {one for function in given for one in unfollowed_calls.run_by(it, function)}
    return found | it.bodies.device


def _looks_by_name(it: Interpreter) -> bool:
    """Whether what runs on fewer devices gets at functions or variables by names that nobody reads."""
    for module in it.modules:
        for name in BY_NAME & module.table.named.keys():
            for node in module.table.named[name]:
                call = module.table.parents.get(node)
                known = isinstance(call, ast.Call) and len(call.args) > 1 and isinstance(call.args[1], ast.Constant)
                if not _evaluated(it).isdisjoint((node, call)) and not (known and name == "getattr"):
                    return True
    return False


def agree(it: Interpreter, found: Layouts, fewer: Interpreter, other: Layouts) -> bool:
    """Whether what a program does on fewer devices stays right where it is changed as it is on several."""
    called = {call.site for call in fewer.maps.calls.values()}
    if not called <= {call.site for call in it.maps.calls.values()} or _looks_by_name(fewer):
        return False
    if any(_is_used(one) and not found.sites[site].blocked for site, one in other.sites.items() if site not in called):
        return False
    if any(_kinds(found.sites[site]) != _kinds(other.sites[site]) for site in called):
        return False
    ran = _evaluated(fewer)
    if any(call.node in ran for call in found.calls):
        return False  # its arguments would change places, and what it calls on one device is another function
    known = {choice.op.node: choice for choice in other.ops}
    shared = [choice for choice in found.ops if choice.op.node in ran]
    return all(
        (twin := known.get(choice.op.node)) is not None
        and (twin.op.kind, twin.layout, twin.fields) == (choice.op.kind, choice.layout, choice.fields)
        for choice in shared
    )


def _is_used(choice: SiteChoice) -> bool:
    """Whether a map that nothing calls is used in another way: handed on, say."""
    return choice.blocked is not None and choice.blocked.topic not in (GIVES_BACK.topic, NO_CALL.topic)


def _evaluated(it: Interpreter) -> set[ast.AST]:
    """The expressions that ran in a program that is followed for fewer devices."""
    return it.devices.evaluated or set() if it.devices is not None else set()


def _kinds(choice: SiteChoice) -> tuple[list[str], list[str], bool]:
    """The layouts of what a map takes and gives."""
    return [one.layout for one in choice.arguments], [one.layout for one in choice.outputs], bool(choice.blocked)


@once
def _traced(_it: Interpreter) -> dict[int, tuple[tuple[ast.expr, bool], ...]]:
    """The tests that ask for several devices, with their answers there, of as many modules as take part."""
    return {}


def _tested(module: Module) -> Iterator[ast.expr]:
    for node in module.nodes:
        if isinstance(node, ast.If | ast.IfExp):
            yield node.test
