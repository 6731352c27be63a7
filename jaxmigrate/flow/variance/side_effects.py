"""What a trusting reading takes for granted of calls out of sight: they change nothing outside of what is read.

JAX asks this of traced code, and a reader takes it that a library's `buffer.insert(state, x)` gives a new state rather
than change an object that the function captures. What the program itself is seen to change does not count as such.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from jaxmigrate.flow.variance.frames import Frame
from jaxmigrate.flow.variance.lattice import AbstractValue
from jaxmigrate.flow.variance.mutation_summary import changed_names
from jaxmigrate.flow.variance.run import OUTSIDE, Run
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import FunctionNode, all_parameters
from jaxmigrate.program.values import Class, Function

DEEPEST = 3  # functions that those of a name call
REFLECTION = frozenset({"__dict__", "__setattr__", "delattr", "exec", "eval", "setattr", "vars"})
Def = ast.FunctionDef | ast.AsyncFunctionDef


def changes_nothing(run: Run, name: str, receiver: AbstractValue, node: ast.Call | None, frame: Frame | None) -> bool:
    """Whether a method may be taken to change nothing outside, which is noted: no container of the program's has it."""
    if not run.mode.trusting or node is None or frame is None or not isinstance(node.func, ast.Attribute):
        return False
    held = any(isinstance(place, tuple) and place[:1] == (OUTSIDE,) for place in receiver.origins)
    if not held or receiver.parts is not None or receiver.fields is not None or receiver.kind == "dict":
        return False
    made = [*_given(run, node.func.value, frame.module)]
    classes = [_made(run, value, module) for value, module in made]
    if not made or any(cls is None or not [*_methods(run, cls, name)] for cls in classes):
        return False
    run.reading.assumed = True
    every = [(cls, method) for cls in classes if cls is not None for method in _methods(run, cls, name)]
    return not any(_stores(run, method, DEEPEST, cls) for cls, method in every)


def only_gives(run: Run, name: str) -> bool:
    """Whether no function of the program that has a name stores anything but in variables of its own."""
    if not run.mode.trusting or not name:
        return False
    run.reading.assumed = True
    found = (
        Function(module, node)
        for module in run.resolver.project.named
        if name in module.text
        for node in module.table.own_scope
        if isinstance(node, Def) and node.name == name
    )
    return not any(_stores(run, function, DEEPEST) for function in found)


def _stores(run: Run, function: Function, depth: int, owner: Class | None = None) -> bool:
    """Whether a function, or one that it calls in sight, may store in something that outlives it.

    `owner` is the class of the object whose method it is.
    """
    node = function.node
    inside = [*ast.walk(node)]
    if any(isinstance(one, ast.Global | ast.Nonlocal) for one in inside):
        return True
    words = {one.id if isinstance(one, ast.Name) else getattr(one, "attr", "") for one in inside}
    own, counted = _own(node, inside), [one for store in inside for one in _counted(store, inside)]
    changing = [one for one in inside if one not in counted]
    if not REFLECTION.isdisjoint(words) or any(changed not in own for changed in changed_names(changing)):
        return True
    if not depth:
        return True
    called = (one for call in inside if isinstance(call, ast.Call) for one in _called(run, call, function, owner))
    return any(_stores(run, one, depth - 1, cls) for one, cls in called if one.node is not node)


def _called(
    run: Run, call: ast.Call, function: Function, owner: Class | None
) -> Iterator[tuple[Function, Class | None]]:
    """What a call in a function calls, as far as that is in sight: also other methods of its object, by their names."""
    module, first = function.module, next(iter(all_parameters(function.node.args)), None)
    match call.func:
        case ast.Attribute(value=ast.Name(id=name), attr=attr) if first is not None and name == first.arg:
            holder = module.table.scope_of[function.node]
            if isinstance(holder.node, ast.ClassDef):
                cls = owner or Class(module, holder.node)
                yield from ((one, cls) for one in _methods(run, cls, attr))
                return
    for value in run.resolver.values(call.func, module):
        if isinstance(value, Function):
            yield value, None
        elif isinstance(value, Class):
            yield from ((one, value) for one in _methods(run, value, "__init__"))


def _methods(run: Run, cls: Class, name: str) -> Iterator[Function]:
    """The methods of a name that a class and those that it derives from define."""
    for one in run.resolver.lineage(cls):
        for binding in one.module.table.own_scope[one.node].bindings.get(name, ()):
            if isinstance(binding.node, Def):
                yield Function(one.module, binding.node)


def _counted(statement: ast.AST, inside: Sequence[ast.AST]) -> list[ast.AST]:
    """The attributes that a statement sets to a number that comes from sizes alone, which all devices have alike."""
    if not isinstance(statement, ast.Assign | ast.AugAssign) or not _is_size(statement.value, inside, DEEPEST):
        return []
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return [target for target in targets if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)]


def _is_size(value: ast.expr, inside: Sequence[ast.AST], depth: int) -> bool:
    """Whether an expression is a number that comes from shapes, literals and numbers of its object's own."""
    match value:
        case ast.Constant(value=int() | float()) | ast.Attribute(attr="shape" | "ndim" | "size"):
            return True
        case ast.Attribute(value=ast.Name(id="self")):
            return True
        case ast.Call(func=ast.Name(id="len")):
            return True
        case ast.Call(func=ast.Name(id="min" | "max" | "int"), args=given, keywords=[]):
            return all(_is_size(one, inside, depth) for one in given)
        case ast.BinOp(left=left, right=right):
            return _is_size(left, inside, depth) and _is_size(right, inside, depth)
        case ast.Subscript(value=inner, slice=ast.Constant()):
            return _is_size(inner, inside, depth)
        case ast.Name(id=name):
            made = [s.value for s in inside if isinstance(s, ast.Assign) and _binds(s, name)]
            parameter = any(isinstance(one, ast.arg) and one.arg == name for one in inside)
            sizes = all(_is_size(one, inside, depth - 1) for one in made) if depth else False
            return sizes if made else parameter and _is_number(name, inside)
    return False


def _binds(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)


def _is_number(name: str, inside: Sequence[ast.AST]) -> bool:
    """Whether a function asserts that a parameter is a Python number."""
    checks = (one.test for one in inside if isinstance(one, ast.Assert) and isinstance(one.test, ast.Call))
    return any(ast.unparse(check) == f"isinstance({name}, int)" for check in checks)


def _own(definition: FunctionNode, inside: list[ast.AST]) -> set[str]:
    """The names that a function binds to what it makes itself, by displays and calls, and no parameters."""
    made = {
        target.id
        for one in inside
        if isinstance(one, ast.Assign) and not isinstance(one.value, ast.Name | ast.Attribute | ast.Subscript)
        for target in one.targets
        if isinstance(target, ast.Name)
    }
    return made - {parameter.arg for parameter in all_parameters(definition.args)}


def _given(run: Run, owner: ast.expr, module: Module) -> Iterator[tuple[ast.expr | None, Module]]:
    """What the program assigns to a name, or to attributes of that name; None for what is not written out."""
    if isinstance(owner, ast.Name):
        for binding in run.resolver.bindings_at(owner, module):
            yield (None if binding.path else binding.value), module
    elif isinstance(owner, ast.Attribute):
        for other in run.resolver.project.named:
            for one in other.table.attributes:
                if one.attr == owner.attr:
                    yield one.value, other


def _made(run: Run, value: ast.expr | None, module: Module) -> Class | None:
    """The class of the program's that an expression makes an object of."""
    made = run.resolver.value(value.func, module) if isinstance(value, ast.Call) else None
    return made if isinstance(made, Class) else None
