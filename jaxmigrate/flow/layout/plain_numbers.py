"""Operands of arithmetic on the host that are one number of Python's, for certain or by what the program says of them.

An array beside a stacked one may have an axis for its device axis; a number changes no axis at all.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxmigrate.flow.layout import class_index
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.flow.layout.named_counts import OPTIONS
from jaxmigrate.flow.layout.values import Ref
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Constant, External

NUMBERS = named("gives-number")
EXTREMES = frozenset({"builtins.max", "builtins.min"})
RANGE, ENUMERATE = External("builtins.range"), External("builtins.enumerate")
ANNOTATED = frozenset({"float", "int"})


def is_number(it: Interpreter, node: ast.expr, module: Module, above: frozenset[object] = frozenset()) -> bool:
    """Whether an expression is certainly one number of Python's; `above` are the variables that are asked already."""
    match node:
        case ast.UnaryOp(operand=operand):
            return is_number(it, operand, module, above)
        case ast.BinOp(left=left, right=right):
            return is_number(it, left, module, above) and is_number(it, right, module, above)
        case ast.Call(func=func, args=args, keywords=keywords):
            value = it.resolver.value(func, module)
            given = bool(args) and not keywords and all(is_number(it, one, module, above) for one in args)
            return isinstance(value, External) and (value.name in NUMBERS or (value.name in EXTREMES and given))
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Constant(value=int())):
            return not class_index.is_property(it, "shape") and not class_index.is_assigned(it, "shape")
        case ast.Name() if _holds_numbers(it, node, module, above):
            return True
    found = it.resolver.value(node, module)
    return isinstance(found, Constant) and isinstance(found.value, int | float)


def _holds_numbers(it: Interpreter, name: ast.Name, module: Module, above: frozenset[object]) -> bool:
    """Whether a variable of a function or file is a number whenever it is read: `count = 0`, and `count += 1` later."""
    scope = module.table.scope_of.get(name)
    holder = scope.lookup(name.id) if scope is not None else None
    if holder is None or holder.kind not in ("function", "module"):
        return False
    variable = ("variable", holder.node, name.id)
    if variable in above:
        return True
    if variable in it.scope.rebound or (holder.kind == "module" and name.id in it.scope.of_modules):
        return False
    bindings = holder.bindings[name.id]
    return bool(bindings) and all(_gives_number(it, one, module, above | {variable}) for one in bindings)


def _gives_number(it: Interpreter, binding: Binding, module: Module, above: frozenset[object]) -> bool:
    """Whether a variable gets a number from a place that binds it."""
    if binding.kind != "assign":
        return binding.kind == "other" and _counts_in(it, binding.node, module, above)
    value = binding.value
    for index in binding.path:
        parts = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        value = parts[index] if isinstance(index, int) and index < len(parts) else None
    return value is not None and not isinstance(value, ast.Starred) and is_number(it, value, module, above)


def _counts_in(it: Interpreter, target: ast.AST, module: Module, above: frozenset[object]) -> bool:
    """Whether a name is what `count += 1` adds to, or what a loop over a range or by `enumerate` counts in."""
    parent = module.table.parents.get(target)
    match parent, module.table.parents.get(parent) if parent is not None else None:
        case ast.AugAssign(value=value), _:
            return is_number(it, value, module, above)
        case ast.For(iter=ast.Call(func=func)), _:
            return it.resolver.value(func, module) == RANGE
        case ast.Tuple(elts=[first, _]), ast.For(iter=ast.Call(func=func)):
            return first is target and it.resolver.value(func, module) == ENUMERATE
    return False


def seem_numbers(it: Interpreter, operands: Sequence[ast.expr], refs: Sequence[Ref], frame: Frame) -> bool:
    """Whether a reader takes operands for numbers: counters of loops, options, and what the program annotates so."""
    doubts = [one for one in operands if not is_number(it, one, frame.module)]
    if not doubts:
        return True
    if not it.trust.likely or not all(_seems_number(it, one, frame.module) for one in doubts):
        return False
    for one in doubts:
        says = f"`{ast.unparse(one)}` is one number"
        it.lean(refs, Assumption("likely", "splits", "", says, frame.module, one))
    return True


def _seems_number(it: Interpreter, node: ast.expr, module: Module) -> bool:
    match node:
        case ast.UnaryOp(operand=operand):
            return _seems_number(it, operand, module)
        case ast.BinOp(left=left, right=right):
            return _seems_number(it, left, module) and _seems_number(it, right, module)
        case ast.Attribute(value=ast.Name(id=owner) | ast.Attribute(attr=owner), attr=name):
            return OPTIONS.match(owner) is not None or name in _annotated(it)
        case ast.Name(id=name):
            return name in _annotated(it) or _is_counter(it, node, module)
    return is_number(it, node, module)


def _is_counter(it: Interpreter, node: ast.Name, module: Module) -> bool:
    """Whether a name is what a loop over a range counts in."""
    bindings = it.resolver.bindings_at(node, module)
    loops = [b.node for b in bindings if isinstance(b.node, ast.For) and isinstance(b.node.target, ast.Name)]
    calls = [loop.iter for loop in loops if isinstance(loop.iter, ast.Call)]
    return 0 < len(calls) == len(bindings) and all(it.resolver.value(call.func, module) == RANGE for call in calls)


@once
def _annotated(it: Interpreter) -> frozenset[str]:
    """The names of parameters and attributes that the program annotates as numbers, and never as anything else."""
    numbers: set[str] = set()
    others: set[str] = set()
    for module in it.resolver.project.named:
        for node in module.nodes:
            match node:
                case ast.arg(arg=name, annotation=ast.expr() as annotation):
                    pass
                case ast.AnnAssign(target=ast.Name(id=name) | ast.Attribute(attr=name), annotation=annotation):
                    pass
                case _:
                    continue
            is_number = isinstance(annotation, ast.Name) and annotation.id in ANNOTATED
            (numbers if is_number else others).add(name)
    return frozenset(numbers - others)
