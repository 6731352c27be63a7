"""Tests that ask whether a program has more devices than one: `if jax.device_count() > 1`.

How many there are does not change while a program runs, so that all such tests hold or none does. The program is
followed as it runs on several devices, and once more as it runs on one: what both run is changed only in a way that is
right for both.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import cast

from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.choices import Layouts, SiteChoice
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.kept_flags import reflects, stored
from jaxmigrate.flow.layout.model import Asked, Devices, Frame
from jaxmigrate.flow.layout.named_counts import NamedCounts
from jaxmigrate.flow.layout.values import Abstract, Blocker
from jaxmigrate.program.attribute_stores import stored_value
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.class_attributes import class_attributes
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.scopes import Binding, Scope
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Application, External, Function, Parameter

ONE_DEVICE = Stacked.MIXED.reason("is stacked here on several devices, and not on one")
DEEPEST = 6  # names of names, callers of callers
# What a comparison of a number of devices with a number says: whether it holds where there are more than one.
ABOVE = {(ast.Gt, 1): True, (ast.GtE, 2): True, (ast.NotEq, 1): True}
ABOVE |= {(ast.LtE, 1): False, (ast.Lt, 2): False, (ast.Eq, 1): False}
TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.Lt, ast.Lt: ast.Gt, ast.GtE: ast.LtE, ast.LtE: ast.GtE}


def holds(it: Interpreter, test: ast.expr, module: Module) -> bool | None:
    """Whether a test holds on as many devices as the program is followed for; None where it asks for something else."""
    if it.devices is None:
        return None
    known, modules = _asked(it), len(it.modules)
    if test not in known or known[test][0] != modules:  # others that join may set what it asks
        known[test] = modules, asks(it, test, module)
    asked = known[test][1]
    if asked is None:
        return None
    it.devices.asked[test] = asked
    return asked.sense is it.devices.several(asked.local)


@once
def _asked(_it: Interpreter) -> dict[ast.expr, tuple[int, Asked | None]]:
    """What tests ask, for as many modules as take part: each is asked whenever its body is followed."""
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
    known = _tests(it)
    for module in it.modules:
        if module not in known:
            found = [(test, asks(it, test, module)) for test in _tested(module)]
            known[module] = [(test, asked) for test, asked in found if asked is not None]
    every = [(test, asked) for module in it.modules for test, asked in known[module]]
    it.devices.asked |= {test: asked for test, asked in every if asked.named is not None}
    return tuple((test, asked.sense) for test, asked in every)


def lean(it: Interpreter, values: list[Abstract]) -> None:
    """Has what a map is given rest on what the numbers count that the program asks."""
    for asked in it.devices.asked.values() if it.devices is not None else ():
        if asked.named is not None and asked.module is not None:
            says = f"`{ast.unparse(asked.named)}` is the number of all devices"
            it.lean(values, Assumption("likely", "apart", "", says, asked.module, asked.named))


def asks(it: Interpreter, test: ast.expr, module: Module, depth: int = DEEPEST) -> Asked | None:
    """Whether a test asks for more devices than one; of a variable, a function or a parameter what it stands for."""
    match test:
        case ast.Compare():
            return _compared(it, test, module)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = asks(it, operand, module, depth)
            return inner and Asked(inner.local, not inner.sense, inner.named, inner.module)
        case ast.Name() | ast.Attribute() | ast.Call() if depth:
            return _meant(it, test, module, depth - 1)
    return None


def _compared(it: Interpreter, test: ast.Compare, module: Module) -> Asked | None:
    match test:
        case ast.Compare(left=count, ops=[op], comparators=[ast.Constant(value=int(number))]):
            kind = type(op)
        case ast.Compare(left=ast.Constant(value=int(number)), ops=[op], comparators=[count]):
            kind = TURNED.get(type(op), type(op))
        case _:
            return None
    sense = ABOVE.get((kind, number))
    if sense is None or isinstance(number, bool):
        return None
    local = _is_local(it, count, module, DEEPEST)
    if local is not None:
        return Asked(local, sense)
    certain = it.idioms.is_count
    if it.trust.likely and NamedCounts(it.resolver, certain).is_one(count, module):
        return Asked(local=False, sense=sense, named=count, module=module)
    return None


def _is_local(it: Interpreter, count: ast.expr, module: Module, depth: int) -> bool | None:
    """Whether a number counts the devices of one process, or all; None where it may count neither."""
    found: set[bool | None] = set()
    if not it.idioms.is_count(count, module):
        if depth:
            found |= {
                _is_local(it, one, where, depth - 1) if one is not None else None
                for one, where in _stand_for(it, count, module)
            }
        return found.pop() if len(found) == 1 else None
    callers = callers_of(it.resolver)
    values = it.resolver.values(count, module)
    for value in (v for one in values for v in (callers.passed(one) if isinstance(one, Parameter) else (one,))):
        if not isinstance(value, Application) or not isinstance(value.callee, External):
            continue  # a number that a chosen list says, or none
        names = [value.callee.name]
        for given in value.arguments if value.callee.name == "builtins.len" else ():
            listed = it.resolver.argument_values(given)
            calls = (one.callee for one in listed if isinstance(one, Application))
            names += [callee.name for callee in calls if isinstance(callee, External)]
        found.add(any("local" in name for name in names))
    return None if len(found) > 1 else found == {True}


def _meant(it: Interpreter, node: ast.expr, module: Module, depth: int) -> Asked | None:
    """What all that a name or an attribute is set to asks, or all that a function returns."""
    found: set[Asked | None] = set()
    for value, where in _stand_for(it, node, module):
        found.add(asks(it, value, where, depth) if value is not None else None)
        if None in found or len(found) > 1:
            return None
    return found.pop() if found else None


def _stand_for(it: Interpreter, node: ast.expr, module: Module) -> Iterator[tuple[ast.expr | None, Module]]:
    """The expressions that a name, an attribute or a call stands for; None among them for what is not in sight."""
    match node:
        case ast.Name():
            scope = module.table.scope_of.get(node)
            holder = scope.lookup(node.id) if scope is not None else None
            bindings = it.resolver.bindings_at(node, module)
            if holder is None or not bindings or _is_set_elsewhere(it, node, holder):
                yield None, module
            for binding in bindings:
                yield from _bound(it, binding, module)
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            stores = stored(it).get(name, [])
            own = name not in class_attributes(it.resolver) and bool(stores) and not reflects(it)
            if not own:
                yield None, module
            for target, where in stores if own else ():
                yield stored_value(target, where), where
        case ast.Call(func=func):
            values = it.resolver.values(func, module) if func in module.table.scope_of else ()
            if not values:
                yield None, module
            for value in values:
                if not isinstance(value, Function) or not _stays(it, value):
                    yield None, module
                    continue
                returned = returned_by(value.node)
                yield from ((one, value.module) for one in returned or [None])
        case _:
            yield None, module


def _stays(it: Interpreter, function: Function) -> bool:
    """Whether a call of a function gives what it returns, and nothing replaces it by its name."""
    node = function.node
    return isinstance(node, ast.Lambda) or (isinstance(node, ast.FunctionDef) and node.name not in stored(it))


def _bound(it: Interpreter, binding: Binding, module: Module) -> Iterator[tuple[ast.expr | None, Module]]:
    """What a binding of a name gives it: of a parameter what the calls write for it."""
    function = binding.scope.node
    if binding.kind == "param" and isinstance(function, ast.FunctionDef) and isinstance(binding.node, ast.arg):
        written = callers_of(it.resolver).written(Parameter(module, function, binding.node.arg))
        if not written:
            yield None, module
        yield from written or ()
    else:
        yield (binding.value if binding.kind == "assign" and not binding.path else None), module


def _is_set_elsewhere(it: Interpreter, name: ast.Name, holder: Scope) -> bool:
    """Whether a variable may be set where its file does not say so."""
    of_module = holder.kind == "module" and (name.id in it.scope.of_modules or name.id in stored(it))
    return of_module or ("variable", holder.node, name.id) in it.scope.rebound


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
    ran, ops = _evaluated(fewer), fewer.operations.ops
    for place, op in it.operations.ops.items():
        if (op.node in ran or place in ran) and (place not in ops or ops[place].kind != op.kind):
            op.group.block(Blocker(ONE_DEVICE, op.module, op.node))
    it.maps.unmapped |= {call.node for call in it.maps.calls.values() if call.node in ran}


def agree(it: Interpreter, found: Layouts, fewer: Interpreter, other: Layouts) -> bool:
    """Whether what a program does on fewer devices stays right where it is changed as it is on several."""
    called = {call.site for call in fewer.maps.calls.values()}
    if not called <= {call.site for call in it.maps.calls.values()}:
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


def _evaluated(it: Interpreter) -> set[ast.AST]:
    """The expressions that ran in a program that is followed for fewer devices."""
    return it.devices.evaluated or set() if it.devices is not None else set()


def _kinds(choice: SiteChoice) -> tuple[list[str], list[str], bool]:
    """The layouts of what a map takes and gives."""
    return [one.layout for one in choice.arguments], [one.layout for one in choice.outputs], bool(choice.blocked)


@once
def _tests(_it: Interpreter) -> dict[Module, list[tuple[ast.expr, Asked]]]:
    """The tests of modules that ask for several devices."""
    return {}


def _tested(module: Module) -> Iterator[ast.expr]:
    for node in module.nodes:
        if isinstance(node, ast.If | ast.IfExp):
            yield node.test
