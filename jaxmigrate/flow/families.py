"""Values of one function that are named and made alike, and of which one is not reduced as the others are.

`d_w0 = psum(d_w0, dp)` and `d_w2 = psum(d_w2, dp)`, and none for `d_w1` that is returned with them; a total that is
summed over the devices and a weight that is not; three sums in a row, one of them over another axis.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jaxmigrate.flow.facts import Facts
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import REDUCTIONS, axis_argument
from jaxmigrate.program.functions import own_statements
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External

ROW = 3  # reductions one after the other, of which one is unlike the others
STEM = 3  # characters
DIGITS = re.compile(r"\d+")
RATIOS = re.compile(r"average|mean|ratio|div", re.IGNORECASE)
TOTALS = re.compile(r"total|sum|num|loss|correct|value")
WEIGHTS = re.compile(r"weight|count|denom|(^|_)n(um)?_|normali[sz]|size$|mask")
SUM, MEAN = "jax.lax.psum", "jax.lax.pmean"
LAST = frozenset(name.rpartition(".")[2] for name in REDUCTIONS)


class Odd(NamedTuple):
    """An expression that is unlike its siblings, what is to be said of it, and a sibling."""

    module: Module
    node: ast.expr
    message: str
    other: ast.expr


class _Reduced(NamedTuple):
    statement: ast.Assign
    call: ast.Call
    op: str
    name: str
    axis: str


def odd_ones(facts: Facts) -> Iterator[Odd]:
    """Reductions that are unlike those of their siblings, and siblings that have none."""
    for module in facts.modules:
        if module.is_test or not any(f"{word}(" in module.text for word in LAST):
            continue
        by_function: dict[FunctionNode, list[_Reduced]] = defaultdict(list)
        for call in module.table.calls:
            found = _reduced(call, module, facts) if last_name(call.func) in LAST else None
            function = module.table.function_of(call)
            if found is not None and function is not None:
                by_function[function].append(found)
        for function, each in by_function.items():
            if isinstance(function, ast.FunctionDef):
                yield from _axes(each, module)
                yield from _ratios(each, function, module)
                yield from _left_out(each, function, module)


def _reduced(call: ast.Call, module: Module, facts: Facts) -> _Reduced | None:
    """`x = psum(x, axis)`."""
    statement = module.table.parents.get(call)
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) if call.args and ast.unparse(call.args[0]) == name:
            callee = facts.resolver.value(call.func, module)
            if isinstance(callee, External) and callee.name in REDUCTIONS:
                axis = axis_argument(callee.name, call_arguments(call, module))
                return _Reduced(statement, call, callee.name, name, ast.unparse(axis)) if axis is not None else None
    return None


def _axes(each: Sequence[_Reduced], module: Module) -> Iterator[Odd]:
    """One of a row of reductions that is over another axis than all others."""
    rows: dict[int, list[_Reduced]] = defaultdict(list)
    for one in each:
        block = module.table.block_of(one.statement)
        rows[id(block[0]) if block else 0].append(one)
    for row in rows.values():
        block = module.table.block_of(row[0].statement)
        places = sorted(block.index(one.statement) for one in row if one.statement in block)
        axes = [one.axis for one in row]
        together = len(places) == len(row) and places[-1] - places[0] == len(row) - 1
        if len(row) < ROW or not together or len({one.op for one in row}) != 1 or len(set(axes)) != 2:
            continue
        rare = min(set(axes), key=axes.count)
        if axes.count(rare) == 1 and len(row) - 1 >= ROW - 1:
            odd = next(one for one in row if one.axis == rare)
            other = next(one for one in row if one.axis != rare)
            message = (
                f"{odd.name} is reduced over {odd.axis}, and all beside it, as {other.name}, over {other.axis}: write "
                f"{other.axis}"
            )
            yield Odd(module, odd.call, message, other.call)


def _ratios(each: Sequence[_Reduced], function: ast.FunctionDef, module: Module) -> Iterator[Odd]:
    """A total and its weight, of which one is summed and the other averaged, or not reduced."""
    names = {one.name: one for one in each}
    for over, under, plain in dict.fromkeys(_divided(function)):
        top, bottom = names.get(over), names.get(under)
        if top is not None and bottom is not None:
            if plain or {top.op, bottom.op} != {SUM, MEAN} or top.axis != bottom.axis:
                continue  # what `/` makes of them is told where it stands
            odd, other = (top, bottom) if top.op == MEAN else (bottom, top)
            message = (
                f"pmean of {odd.name} and psum of {other.name} make a ratio that is wrong by the number of devices: "
                "write psum for both"
            )
            yield Odd(module, odd.call, message, other.call)
        elif (top is None) is not (bottom is None):
            one, other_name = (top, under) if top is not None else (bottom, over)
            if one is None or one.op != SUM or not (TOTALS.search(over) and WEIGHTS.search(under)):
                continue
            if _is_made_like(one.name, other_name, function) and not _is_given(other_name, each, function):
                message = (
                    f"{one.name} is summed over {one.axis}, and {other_name}, which makes a ratio with it, is not: "
                    "write "
                    f"{other_name} = jax.lax.psum({other_name}, {one.axis})"
                )
                yield Odd(module, one.call, message, one.call)


def _divided(function: ast.FunctionDef) -> Iterator[tuple[str, str, bool]]:
    """Names of which one is divided by the other, by an operator, which is plain, or by what makes averages."""
    for node in own_statements(function):
        for one in ast.walk(node) if not isinstance(node, ast.If | ast.For | ast.While | ast.With) else ():
            match one:
                case ast.BinOp(left=ast.Name(id=over), op=ast.Div(), right=ast.Name(id=under)):
                    yield over, under, True
                case ast.Call(func=made, args=[ast.Name(id=over), ast.Name(id=under)]):
                    if RATIOS.search(last_name(made)):
                        yield over, under, False


def _left_out(each: Sequence[_Reduced], function: ast.FunctionDef, module: Module) -> Iterator[Odd]:
    """A value that is named and made as others that are reduced, goes with them, and is not reduced."""
    names = {one.name for one in each}
    told: set[str] = set()
    for node in ast.walk(function):
        if not isinstance(node, ast.Tuple | ast.List | ast.Call | ast.BinOp | ast.Dict):
            continue
        held = {one.id for one in _operands(node) if isinstance(one, ast.Name)}
        for name in sorted(held - names - told):
            alike = [one for one in each if one.name in held and _is_kin(one.name, name, len(names & held))]
            alike = [one for one in alike if one.statement.lineno < node.lineno]
            if not alike or not _is_made_like(alike[0].name, name, function) or _is_given(name, each, function):
                continue
            told.add(name)
            one = max(reversed(alike), key=lambda sibling: DIGITS.sub("", sibling.name) == DIGITS.sub("", name))
            rest = ", ".join(ast.unparse(arg) for arg in (*one.call.args[1:], *one.call.keywords))
            message = (
                f"{name} is made as {one.name}, and goes with it, but is not reduced over {one.axis}: write "
                f"{name} = {ast.unparse(one.call.func)}({name}, {rest})"
            )
            yield Odd(module, one.call, message, one.call)


def _operands(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return elements
        case ast.Call(args=args, keywords=keywords):
            return [*args, *(one.value for one in keywords)]
        case ast.BinOp(left=left, right=right):
            return [_base(left), _base(right)]
        case ast.Dict(values=values):
            return values
    return []


def _base(node: ast.expr) -> ast.expr:
    """What is squared, in a variance: `mean2 - mean**2`, `mean2 - square(mean)`."""
    match node:
        case ast.BinOp(left=inner, op=ast.Pow()) | ast.Call(args=[inner]):
            return inner
        case ast.BinOp(left=ast.Name() as inner, op=ast.Mult(), right=ast.Name() as other) if inner.id == other.id:
            return inner
    return node


def _is_kin(one: str, other: str, reduced: int) -> bool:
    """Whether names are those of siblings: alike but for a number, or one begins as the other; or of one of several."""
    first, second = sorted((one, other), key=len)
    if DIGITS.sub("", one) == DIGITS.sub("", other) and len(DIGITS.sub("", one)) >= STEM:
        return True
    rest = second[len(first) :]
    return second.startswith(first) and len(first) >= STEM and (rest[0] in "_0123456789") and reduced >= 1


def _is_made_like(one: str, other: str, function: ast.FunctionDef) -> bool:
    """Whether two names are bound to what is made alike: by one call, by calls of one name, or as parameters."""
    first, second = _makers(one, function), _makers(other, function)
    return bool(first) and bool(second) and not first.isdisjoint(second)


def _makers(name: str, function: ast.FunctionDef) -> set[str]:
    """How a name comes to its values in a function, but for what reduces it."""
    found = {"parameter"} if any(one.arg == name for one in function.args.args) else set()
    for node in (one for one in own_statements(function) if isinstance(one, ast.Assign)):
        value = node.value
        if isinstance(value, ast.Call) and last_name(value.func) in LAST:
            continue
        for target in node.targets:
            if isinstance(target, ast.Tuple) and any(isinstance(e, ast.Name) and e.id == name for e in target.elts):
                found.add(f"unpacked {node.lineno}")
            elif isinstance(target, ast.Name) and target.id == name:
                found.add(last_name(value.func) if isinstance(value, ast.Call) else type(value).__name__)
    return found


def _is_given(name: str, each: Sequence[_Reduced], function: ast.FunctionDef) -> bool:
    """Whether a name is given to a reduction in some other way, or is made of what was reduced."""
    first = min(one.statement.lineno for one in each)
    for node in ast.walk(function):
        held: list[ast.expr] = []
        if isinstance(node, ast.Call) and (last_name(node.func) in LAST or "reduce" in last_name(node.func)):
            held = node.args
        elif isinstance(node, ast.Assign) and node.lineno > first:
            held = node.targets
        if any(_holds(one, name) for one in held):
            return True
    return False


def _holds(node: ast.expr, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node))
