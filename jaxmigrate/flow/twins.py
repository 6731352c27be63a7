"""Places of one function that do the same to values that are made alike, and that reduce them differently.

`optimizer(grads, ...)` in both branches of an `if`, of which one averages `grads` before; or two norms that are
computed in one way, of which one is averaged and the other summed.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jaxmigrate.flow.stacked_names import nearest
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import REDUCTIONS, axis_argument
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.syntax import calls_of, last_name
from jaxmigrate.program.values import External

SUM, MEAN = "jax.lax.psum", "jax.lax.pmean"
LOSS = re.compile(r"(^|_)(loss|cost|error|mse|nll)(_|$)")
SHORTEST = 40  # characters of an expression that is no accident
LAST = frozenset(name.rpartition(".")[2] for name in REDUCTIONS)


class Twin(NamedTuple):
    """An expression that is not reduced as the one it is like, which is `other`."""

    module: Module
    node: ast.expr
    other: ast.expr
    axis: str


class _Reduction(NamedTuple):
    call: ast.Call
    name: str
    operand: ast.Name
    axis: str


def unlike_twins(modules: Iterable[Module], resolver: Resolver) -> Iterator[tuple[Twin, bool]]:
    """Twins; True where one is summed and the other averaged, False where one is not reduced at all."""
    for module in modules:
        if not any(word in module.text for word in LAST):
            continue
        by_function: dict[FunctionNode, list[_Reduction]] = defaultdict(list)
        calls = [call for call in module.table.calls if last_name(call.func) in LAST]
        yield from ((twin, True) for twin in _summed_means(calls, module, resolver))
        for call in calls:
            found = _reduction(call, module, resolver)
            function = module.table.function_of(call)
            if found is not None and function is not None:
                by_function[function].append(found)
        everything = [one for reductions in by_function.values() for one in reductions]
        yield from ((twin, True) for twin in _summed_elsewhere(everything, module))
        for function, reductions in by_function.items():
            yield from ((twin, True) for twin in _summed(reductions, module))
            yield from ((twin, False) for twin in _unreduced(reductions, function, module))


def _reduction(call: ast.Call, module: Module, resolver: Resolver) -> _Reduction | None:
    """A reduction of what one name holds."""
    operand = call.args[0] if call.args else None
    callee = resolver.value(call.func, module) if isinstance(operand, ast.Name) else None
    if not isinstance(callee, External) or callee.name not in REDUCTIONS or not isinstance(operand, ast.Name):
        return None
    axis = axis_argument(callee.name, call_arguments(call, module))
    return _Reduction(call, callee.name, operand, ast.unparse(axis)) if axis is not None else None


def _summed_means(calls: list[ast.Call], module: Module, resolver: Resolver) -> Iterator[Twin]:
    """`psum(scores.mean(), axis)` in a display or call in which other means are averaged over the same axis."""
    beside: dict[tuple[ast.AST, str], list[tuple[str, ast.Call]]] = defaultdict(list)
    for call in calls:
        if not call.args or not _is_mean(call.args[0]):
            continue
        callee = resolver.value(call.func, module)
        name = callee.name if isinstance(callee, External) else ""
        axis = axis_argument(name, call_arguments(call, module)) if name in (SUM, MEAN) else None
        above = module.table.parents.get(call)
        above = module.table.parents.get(above) if isinstance(above, ast.keyword) else above
        if axis is not None and isinstance(above, ast.Call | ast.Dict | ast.Tuple):
            beside[above, ast.unparse(axis)].append((name, call))
    for (_, axis_text), same in beside.items():
        means, sums = ([call for name, call in same if name == wanted] for wanted in (MEAN, SUM))
        if len(means) > len(sums) == 1:
            yield Twin(module, sums[0], means[0], axis_text)


def _is_mean(node: ast.expr) -> bool:
    """Whether an expression is a mean as it stands."""
    return isinstance(node, ast.Call) and last_name(node.func) in ("mean", "nanmean")


def _summed_elsewhere(reductions: list[_Reduction], module: Module) -> Iterator[Twin]:
    """Sums of a loss that one function computes, where another function of the module averages it."""
    alike: dict[tuple[str, str, str], list[_Reduction]] = defaultdict(list)
    for one in reductions:
        source = _computed_by(one.operand, module) if LOSS.search(one.operand.id.lower()) else None
        if source is not None:
            alike[one.axis, one.operand.id, source].append(one)
    for same in alike.values():
        means, sums = ([one for one in same if one.name == name] for name in (MEAN, SUM))
        if means and len(sums) == 1 and _is_kept(sums[0].call, module):
            yield Twin(module, sums[0].call, means[0].call, sums[0].axis)


def _is_kept(call: ast.Call, module: Module) -> bool:
    """Whether nothing is made of a sum in the function but a result: it is returned, or a name of its own is."""
    parent = module.table.parents.get(call)
    if isinstance(parent, ast.Return | ast.Dict):
        return True
    if not isinstance(parent, ast.Assign) or not isinstance(parent.targets[0], ast.Name):
        return False
    function, name = module.table.function_of(call), parent.targets[0].id
    uses = [one for one in module.table.named.get(name, ()) if module.table.function_of(one) is function]
    above = [module.table.parents.get(one) for one in uses if one.lineno > call.lineno]
    return all(isinstance(one, ast.Return | ast.Tuple | ast.Dict) for one in above)


def _computed_by(operand: ast.Name, module: Module) -> str | None:
    """The function of which a value, or what comes with its gradient, is the result, by its name."""
    above = nearest(operand, module)
    call = above.value if above is not None else None
    function = call.func if isinstance(call, ast.Call) else None
    if isinstance(function, ast.Name) and (made := nearest(function, module)) is not None:
        function = made.value
    if isinstance(function, ast.Call) and last_name(function.func) == "value_and_grad" and function.args:
        function = function.args[0]
    if isinstance(function, ast.Call) or function is None:
        return None
    return last_name(function) or None


def _summed(reductions: list[_Reduction], module: Module) -> Iterator[Twin]:
    """Sums of what is made as something else is that is averaged over the same axis."""
    alike: dict[tuple[str, str], list[_Reduction]] = defaultdict(list)
    for one in reductions:
        above = nearest(one.operand, module)
        made = above.value if above is not None and not above.path else None
        if made is not None and len(text := _without_names(made)) >= SHORTEST:
            alike[one.axis, text].append(one)
    for same in alike.values():
        means, sums = ([one for one in same if one.name == name] for name in (MEAN, SUM))
        if means and len(sums) == 1 and not isinstance(module.table.parents.get(sums[0].call), ast.BinOp):
            yield Twin(module, sums[0].call, means[0].call, sums[0].axis)


def _without_names(node: ast.expr) -> str:
    """The text of an expression without the names in it, which twins have others of."""
    return ast.dump(_Nameless().visit(ast.parse(ast.unparse(node), mode="eval").body), annotate_fields=False)


class _Nameless(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("_", node.ctx)


def _unreduced(reductions: list[_Reduction], function: FunctionNode, module: Module) -> Iterator[Twin]:
    """What is given to one function as in another branch, but reduced there alone."""
    names = {one.operand.id for one in reductions}
    calls: dict[str, list[ast.Call]] = defaultdict(list)
    for call in calls_of(function):
        given = [one for one in call.args if isinstance(one, ast.Name) and one.id in names]
        if given and last_name(call.func) not in LAST:
            calls[ast.unparse(call)].append(call)
    for same in calls.values():
        for number in range(len(same[0].args) if len(same) > 1 else 0):
            yield from _of_argument([call.args[number] for call in same], reductions, module)


def _of_argument(given: list[ast.expr], reductions: list[_Reduction], module: Module) -> Iterator[Twin]:
    by_call = {one.call: one for one in reductions}
    reduced: list[tuple[ast.expr, _Reduction]] = []
    plain: list[ast.Name] = []
    for one in given:
        above = nearest(one, module) if isinstance(one, ast.Name) else None
        value = above.value if above is not None else None
        if not isinstance(one, ast.Name) or not isinstance(value, ast.Call):
            return
        if value in by_call:
            reduced.append((one, by_call[value]))
        elif _in_block_of(value, one, module):
            plain.append(one)
    apart = [one for one in plain if reduced and _is_in_other_branch(one, reduced[0][0], module)]
    for one in apart:
        above = nearest(one, module)
        if above is not None and above.value is not None and above.path:  # of a gradient, beside the value
            yield Twin(module, one, reduced[0][1].call, reduced[0][1].axis)


def _in_block_of(value: ast.expr, read: ast.expr, module: Module) -> bool:
    """Whether something is assigned in the very list of statements in which it is read."""
    statement = module.table.statement_of(value)
    return statement is not None and statement in module.table.block_of(module.table.statement_of(read))


def _is_in_other_branch(one: ast.expr, other: ast.expr, module: Module) -> bool:
    """Whether two expressions stand in different branches of one `if`."""
    parents = module.table.parents
    around: list[ast.AST] = []
    node: ast.AST = one
    while node in parents:
        node = parents[node]
        around.append(node)
    node = other
    while node in parents:
        node = parents[node]
        if node in around:
            return isinstance(node, ast.If)
    return False
