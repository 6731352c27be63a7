"""Operands of arithmetic on the host that are one number of Python's, for certain or by what the program says of them.

An array beside a stacked one may have an axis for its device axis; a number changes no axis at all.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.flow.layout.named_counts import OPTIONS
from jaxmigrate.flow.layout.values import Ref
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Constant, External

NUMBERS = named("gives-number")
RANGE = External("builtins.range")
ANNOTATED = frozenset({"float", "int"})


def is_number(it: Interpreter, node: ast.expr, module: Module) -> bool:
    """Whether an expression is certainly one number of Python's."""
    match node:
        case ast.UnaryOp(operand=operand):
            return is_number(it, operand, module)
        case ast.BinOp(left=left, right=right):
            return is_number(it, left, module) and is_number(it, right, module)
        case ast.Call(func=func):
            value = it.resolver.value(func, module)
            return isinstance(value, External) and value.name in NUMBERS
    found = it.resolver.value(node, module)
    return isinstance(found, Constant) and isinstance(found.value, int | float)


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
