"""Labels that count the rows of one device's block, where the columns are those of all devices.

As in a contrastive loss: `logits = images @ all_gather(texts).T` with `labels = arange(len(images))`. The text that
belongs to the first image stands in the first column on the first device alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from jaxmigrate.flow.blocks.evidence import only_binding
from jaxmigrate.flow.enclosing import text_around
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import argument
from jaxmigrate.program.functions import own_statements, returned_by
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Path
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External, Function

GATHER = "jax.lax.all_gather"
PRODUCTS = frozenset({"dot", "matmul", "einsum", "tensordot", "inner"})
CHOOSING = re.compile("entropy|xent|loss|nll|take_along_axis")
INDEXED = re.compile("axis_index|process_index|host_id|rank|shard_id|device_id|offset")  # by which rows are told apart


class LocalLabels(NamedTuple):
    """Where labels are counted, what they choose in, and the axis over which the columns were gathered."""

    module: Module
    node: ast.Call
    logits: ast.expr
    axis: str


def local_labels(calls: Iterable[tuple[Module, ast.Call]], resolver: Resolver) -> Iterator[LocalLabels]:
    """Labels of the rows of one device for the columns of all, in functions that gather these; `calls` gather."""
    seen: set[ast.FunctionDef] = set()
    for module, call in calls:
        users = _users(call, module, resolver) if _is_gather(call, module, resolver) else ()
        for home, function, gathered in users:
            if function not in seen:
                seen.add(function)
                axis = argument(call_arguments(call, module), 1, "axis_name")
                shown = "" if axis is None or axis.expression is None else ast.unparse(axis.expression)
                yield from _in_function(function, home, gathered, shown)


def _users(
    call: ast.Call, module: Module, resolver: Resolver
) -> Iterator[tuple[Module, ast.FunctionDef, list[ast.expr]]]:
    """The functions with what they gather: the one that a call stands in, and those that call it if it returns that."""
    function = module.table.function_of(call)
    if not isinstance(function, ast.FunctionDef):
        return
    own = [one for one in ast.walk(function) if isinstance(one, ast.Call) and _is_gather(one, module, resolver)]
    yield module, function, [*own]
    if not all(one is not None and any(part is call for part in ast.walk(one)) for one in returned_by(function)):
        return
    users: dict[ast.FunctionDef, list[ast.expr]] = {}
    for node in module.table.named.get(function.name, ()):
        above = module.table.parents.get(node)
        user = module.table.function_of(above) if isinstance(above, ast.Call) and above.func is node else None
        if isinstance(above, ast.Call) and isinstance(user, ast.FunctionDef):
            callee = resolver.value(above.func, module)
            if isinstance(callee, Function) and callee.node is function:
                users.setdefault(user, []).append(above)
    yield from ((module, user, gathered) for user, gathered in users.items())


def _is_gather(call: ast.Call, module: Module, resolver: Resolver) -> bool:
    return last_name(call.func) == "all_gather" and resolver.value(call.func, module) == External(GATHER)


class Known(NamedTuple):
    """Some expressions, and the names that are assigned what is made of them."""

    found: frozenset[ast.expr]
    names: frozenset[str]

    def in_(self, node: ast.AST) -> bool:
        """Whether an expression is made of any of these, and not of their shapes alone."""
        if node in self.found or (isinstance(node, ast.Name) and node.id in self.names):
            return True
        match node:
            case ast.Attribute(attr="shape" | "dtype" | "ndim" | "size") | ast.Call(func=ast.Name(id="len")):
                return False
        return any(map(self.in_, ast.iter_child_nodes(node)))


def _in_function(
    function: ast.FunctionDef, module: Module, gathered: list[ast.expr], axis: str
) -> Iterator[LocalLabels]:
    if INDEXED.search(text_around(function, module)):
        return
    statements = [one for one in own_statements(function) if isinstance(one, ast.Assign) and len(one.targets) == 1]
    everyones = _followed(gathered, statements, lambda value: not any(map(_is_product, ast.walk(value))))
    products = [one for one in ast.walk(function) if _is_product(one) and _is_along_columns(one, everyones)]
    logits = _followed(products, statements, lambda _: True)
    calls = [one for one in ast.walk(function) if isinstance(one, ast.Call)]
    counts = [one for one in calls if _counts_rows(one, module, everyones)]
    for count in counts if products else ():
        labels = _followed([count], statements, lambda value: not isinstance(value, ast.BinOp))
        ones = [one for one in calls if last_name(one.func) in ("one_hot", "eye") and labels.in_(one)]
        rows = _followed(ones, statements, lambda _: True)
        chosen_in = next((one for use in ast.walk(function) for one in _chosen_in(use, labels, rows, logits)), None)
        if chosen_in is not None:
            yield LocalLabels(module, count, chosen_in, axis)


def _followed(nodes: Sequence[ast.AST], statements: list[ast.Assign], keeps: Callable[[ast.expr], bool]) -> Known:
    known = Known(frozenset(one for one in nodes if isinstance(one, ast.expr)), frozenset())
    for statement in statements:
        target = statement.targets[0]
        if isinstance(target, ast.Name):
            made = keeps(statement.value) and known.in_(statement.value)
            known = known._replace(names=known.names | {target.id} if made else known.names - {target.id})
    return known


def _is_product(node: ast.AST) -> bool:
    match node:
        case ast.BinOp(op=ast.MatMult()):
            return True
        case ast.Call(func=function, args=[_, _, *_]):
            return last_name(function) in PRODUCTS
    return False


def _is_along_columns(product: ast.AST, everyones: Known) -> bool:
    """Whether a product is of something of one device and, second, of what was gathered: its columns are of all."""
    match product:
        case ast.BinOp(left=left, right=right) | ast.Call(args=[*_, left, right]):
            return everyones.in_(right) and not everyones.in_(left)
    return False


def _chosen_in(use: ast.AST, labels: Known, rows: Known, logits: Known) -> Iterator[ast.expr]:
    """What labels choose columns of: in a loss, by `take_along_axis`, by an index, as a row of ones and zeros each."""
    match use:
        case ast.Call() if CHOOSING.search(last_name(use.func)):
            given = [*use.args, *(keyword.value for keyword in use.keywords)]
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            given, labels = [left, right], rows
        case ast.Subscript(value=held, slice=ast.Tuple(elts=[_, *columns])):
            given = [held, *columns]
        case _:
            return
    if any(labels.in_(one) and not logits.in_(one) for one in given):
        yield from (one for one in given if logits.in_(one) and not labels.in_(one))


def _counts_rows(node: ast.Call, module: Module, everyones: Known) -> bool:
    """Whether `arange(x.shape[0])` counts the rows of what is one device's."""
    if last_name(node.func) != "arange" or len(node.args) != 1:
        return False
    length: ast.expr = node.args[0]
    path: Path = ()
    if isinstance(length, ast.Name):
        binding = only_binding(length, module)
        if binding is None or binding.kind != "assign" or binding.value is None:
            return False
        length, path = binding.value, binding.path
    match length:
        case ast.Attribute(value=held, attr="shape") if path == (0,):
            return not everyones.in_(held)
        case ast.Subscript(value=ast.Attribute(value=held, attr="shape"), slice=ast.Constant(value=0)) if not path:
            return not everyones.in_(held)
        case ast.Call(func=ast.Name(id="len"), args=[held]) if not path:
            return not everyones.in_(held)
    return False
