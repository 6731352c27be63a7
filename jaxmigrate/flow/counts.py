"""How many arguments or results something is for: the entries of specs and shardings, and what functions return."""

from __future__ import annotations

import ast

from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import defaults_of, positional_names
from jaxmigrate.program.values import Constant, Function, Partial, Value


def entries(node: ast.expr, module: Module, resolver: Resolver) -> int | None:
    """The length of a tuple that an expression makes; None where that is not known, or it is no tuple."""
    match node:
        case ast.Tuple(elts=elements):
            counts = [entries(one.value, module, resolver) if isinstance(one, ast.Starred) else 1 for one in elements]
            return None if None in counts else sum(one or 0 for one in counts)
        case ast.Name():
            held = resolver.assigned(node, module)
            return None if isinstance(held, ast.Name) else entries(held, module, resolver)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            one, other = entries(left, module, resolver), entries(right, module, resolver)
            return None if one is None or other is None else one + other
        case ast.BinOp(left=left, op=ast.Mult(), right=ast.Constant(value=int(times))):
            count = entries(left, module, resolver)
            return None if count is None else count * times
        case ast.Subscript(value=held, slice=ast.Slice(lower=lower, upper=upper, step=step)):
            count = entries(held, module, resolver)
            ends = [None if one is None else resolver.value(one, module) for one in (lower, upper, step)]
            if count is None or not all(one is None or isinstance(one, Constant) for one in ends):
                return None
            numbers = [one.value if isinstance(one, Constant) else None for one in ends]
            if not all(isinstance(number, int | None) for number in numbers):
                return None
            first, last, by = (number if isinstance(number, int) else None for number in numbers)
            return len(range(count)[first:last:by])
    return None


def taken(value: Value) -> tuple[int, int] | None:
    """How many positional arguments a function takes, at least and at most; None where it takes any number."""
    if isinstance(value, Partial):
        inner = value.callee
        if not isinstance(inner, Function) or any(one.keyword in ("*", "**") for one in value.arguments):
            return None
        given = {one.keyword for one in value.arguments}
        names = inner.passed_names()[sum(one.keyword is None for one in value.arguments) :]
        names = names[: next((n for n, name in enumerate(names) if name in given), len(names))]
    elif isinstance(value, Function):
        inner, names = value, value.passed_names()
    else:
        return None
    if inner.node.args.vararg is not None:
        return None
    optional = {name for name, _ in defaults_of(inner.node.args)}
    return len([name for name in names if name not in optional]), len(names)


def parameters_without(function: Function, numbers: object, names: object) -> int:
    """How many of a function's positional parameters are among some numbers or names."""
    positions = numbers if isinstance(numbers, tuple | list) else (numbers,)
    words = names if isinstance(names, tuple | list) else (names,)
    own = positional_names(function.node.args)[function.receiver is not None :]
    chosen = {own[n] for n in positions if isinstance(n, int) and -len(own) <= n < len(own)}
    return len(chosen | {name for name in words if name in own})


def keys(node: ast.expr | None) -> frozenset[str] | None:
    """The keys of a dictionary that is written out; None where they are not all strings, or it is none."""
    if not isinstance(node, ast.Dict):
        return None
    found = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
    return frozenset(str(key) for key in found) if all(isinstance(key, str) for key in found) else None


def results(function: Function) -> ast.Tuple | None:
    """The tuple that a function returns, if it does in each place and they are of one length."""
    returned = returned_by(function.node)
    tuples = [one for one in returned if isinstance(one, ast.Tuple)]
    plain = [one for one in tuples if not any(isinstance(e, ast.Starred) for e in one.elts)]
    if not plain or len(plain) != len(returned) or len({len(one.elts) for one in plain}) > 1:
        return None
    return plain[0]
