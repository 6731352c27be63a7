"""Branches that processes take differently, and the operations that then only some of them reach."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jaxmigrate.flow.axes import expression_calls
from jaxmigrate.flow.operations import Operation, operations, same_sequence
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, External, Value

PROCESS_INDEX = frozenset({"jax.process_index", "jax.host_id", "jax.lib.xla_bridge.process_index"})
ENDS = ast.Return | ast.Raise | ast.Continue | ast.Break


@dataclass(frozen=True, slots=True, eq=False)
class ProcessBranch:
    """A test on the process index and the first operation that not every process reaches because of it."""

    module: Module
    test: ast.expr
    operation: Operation


def process_branches(module: Module, resolver: Resolver) -> Iterator[ProcessBranch]:
    """The branches of a module on the process index whose ways differ in their operations."""
    if "process_index" not in module.text and "host_id" not in module.text:
        return
    for node in _statements(module.tree):
        for body in _bodies(node):
            for index, statement in enumerate(body):
                if isinstance(statement, ast.If | ast.While) and differs(statement.test, module, resolver):
                    yield from _of_branch(statement, body[index + 1 :], module, resolver)


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """The module and all statements in it, and what else can hold statements."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            found = getattr(node, name, None)
            if isinstance(found, list):
                pending.extend(found)


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        found = getattr(node, name, None)
        if isinstance(found, list) and found and isinstance(found[0], ast.stmt):
            yield found


def _of_branch(
    node: ast.If | ast.While, after: Sequence[ast.stmt], module: Module, resolver: Resolver
) -> Iterator[ProcessBranch]:
    one = operations(node.body, module, resolver)
    other = operations(node.orelse, module, resolver)
    ends_one = bool(node.body) and isinstance(node.body[-1], ENDS)
    ends_other = bool(node.orelse) and isinstance(node.orelse[-1], ENDS)
    if ends_one != ends_other and not isinstance(node.body[-1], ast.Raise):
        rest = operations(after, module, resolver)
        one, other = (one, other + rest) if ends_one else (one + rest, other)
    if not same_sequence(one, other):
        yield ProcessBranch(module, node.test, _first_difference(one, other))


def _first_difference(one: list[Operation], other: list[Operation]) -> Operation:
    for a, b in zip(one, other, strict=False):
        if a.signature != b.signature:
            return a
    longer = max(one, other, key=len)
    return longer[min(len(one), len(other))]


def differs(test: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether a test certainly reads the process index: directly, or through a name or attribute assigned from it."""
    if any(_is_index(resolver.value(call.func, module)) for call in expression_calls(test)):
        return True
    names = [n for n in ast.walk(test) if isinstance(n, ast.Name | ast.Attribute)]
    return any(_is_index_call(resolver.value(n, module)) or _from_index(n, module, resolver) for n in names)


def _is_index(value: Value) -> bool:
    return isinstance(value, External) and value.name in PROCESS_INDEX


def _is_index_call(value: Value) -> bool:
    return isinstance(value, Application) and _is_index(value.callee)


def _from_index(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether a name has one assignment, a comparison with the process index: `is_chief = process_index() == 0`."""
    if not isinstance(node, ast.Name):
        return False
    bindings = resolver.bindings(node.id, module.table.scope_of[node])
    value = bindings[0].value if len(bindings) == 1 else None
    if not isinstance(value, ast.Compare):
        return False
    return any(_is_index(resolver.value(call.func, module)) for call in expression_calls(value))
