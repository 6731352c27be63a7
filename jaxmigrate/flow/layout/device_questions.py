"""Which tests ask for more devices than one: as they are written, or by what a variable, method or parameter gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.kept_flags import bound_in_classes, is_own, is_self, reflects, stored
from jaxmigrate.flow.layout.model import Asked
from jaxmigrate.program.attribute_stores import stored_value
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.scopes import Binding, Scope
from jaxmigrate.program.values import Application, External, Function, Parameter

_STEPS = ast.Assign | ast.AnnAssign | ast.Expr | ast.Import | ast.ImportFrom  # after which the next always runs
KEEPING = named("cache") | {"builtins.staticmethod"}
DEEPEST = 6  # names of names, callers of callers
# What a comparison of a number of devices with a number says: whether it holds where there are more than one.
ABOVE = {(ast.Gt, 1): True, (ast.GtE, 2): True, (ast.NotEq, 1): True}
ABOVE |= {(ast.LtE, 1): False, (ast.Lt, 2): False, (ast.Eq, 1): False}
TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.Lt, ast.Lt: ast.Gt, ast.GtE: ast.LtE, ast.LtE: ast.GtE}


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
    by_name = it.idioms.of_named_count()
    is_named = by_name is not None and by_name.is_count(count, module)
    return Asked(local=False, sense=sense, named=count, module=module) if is_named else None


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
        case ast.Attribute():
            kept = _kept_once(it, node, module)
            yield kept if kept is not None else (None, module)
        case ast.Call(func=func):
            values = it.resolver.values(func, module) if func in module.table.scope_of else ()
            if not values:
                yield None, module
            for value in values:
                yield (_returned(it, value), value.module) if isinstance(value, Function) else (None, module)
        case _:
            yield None, module


def _kept_once(it: Interpreter, node: ast.Attribute, module: Module) -> tuple[ast.expr | None, Module] | None:
    """What the one `__init__` that sets an attribute of a method's own object sets it to."""
    stores = stored(it).get(node.attr, [])
    if len(stores) != 1 or not is_self(node.value) or reflects(it) or node.attr in bound_in_classes(it):
        return None
    target, home = stores[0]
    function = module.table.function_of(node)
    method = isinstance(function, ast.FunctionDef) and module.table.scope_of[function].kind == "class"
    return (stored_value(target, home), home) if method and is_own(it, node, target, module, home) else None


def _returned(it: Interpreter, function: Function) -> ast.expr | None:
    """What every call of a function returns; None where that hangs on anything, or something may replace it."""
    node = function.node
    if isinstance(node, ast.Lambda):
        return node.body
    if not isinstance(node, ast.FunctionDef) or node.name in stored(it) or finds_by_name(it):
        return None
    *before, last = node.body
    named_apart = function.module.table.scope_of[node].kind != "class" or len(bound_in_classes(it)[node.name]) == 1
    kept = all(it.idioms.called(one, function.module) in KEEPING for one in node.decorator_list)
    if not isinstance(last, ast.Return) or not all(isinstance(one, _STEPS) for one in before):
        return None
    waits = any(isinstance(one, ast.Yield | ast.YieldFrom | ast.Await) for one in ast.walk(node))
    return last.value if named_apart and kept and not waits else None


@once
def finds_by_name(it: Interpreter) -> bool:
    """Whether a program may set variables by names that are only known when it runs; of modules it hardly ever does."""
    names = {"globals", "exec", "eval"} | (set() if it.trust.likely else {"locals", "setattr", "vars", "__dict__"})
    return any(not names.isdisjoint(module.table.named) for module in it.resolver.project.program)


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
    named = name.id in it.scope.of_modules or name.id in stored(it) or finds_by_name(it)
    of_module = holder.kind == "module" and named
    return of_module or ("variable", holder.node, name.id) in it.scope.rebound
