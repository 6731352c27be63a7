"""Reductions that repeat one in the same function, so that they can be left out wherever the function runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.flow.axis_values import axis_names
from jaxmigrate.flow.blocks.evidence import only_binding
from jaxmigrate.flow.fixes import Offer, replaced
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import REDUCTIONS, axis_argument
from jaxmigrate.program.modules import Module
from jaxmigrate.program.operations import DropStatement
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.values import External

IDEMPOTENT = REDUCTIONS - {"jax.lax.psum"}  # what they give, they give again


def undoubled(call: ast.expr, module: Module, resolver: Resolver) -> Offer | None:
    """What leaves out a reduction of what the same one gave right there, or gave to the name that it is of.

    A `psum` is not left out, which may count the devices on purpose; nor is a mean of a sum, whose type may be another.
    """
    name = _reduction(call, module, resolver)
    if name is None or not isinstance(call, ast.Call):
        return None
    operand = call.args[0]
    title = f"leave out the second {name.rpartition('.')[2]}"
    if isinstance(operand, ast.Call):
        same = _is_repeated(call, operand, module, resolver)
        return Offer(title, module, (replaced(call, "$reduced", reduced=operand),)) if same else None
    binding = only_binding(operand, module) if isinstance(operand, ast.Name) else None
    if binding is None or not isinstance(operand, ast.Name) or not isinstance(binding.value, ast.Call):
        return None
    if binding.kind != "assign" or binding.path or not _is_in(binding, operand, module):
        return None
    if not _is_repeated(call, binding.value, module, resolver) or _may_change(operand, binding, module, resolver):
        return None
    statement = module.table.parents.get(call)
    if isinstance(statement, ast.Expr):
        return None
    if isinstance(statement, ast.Assign) and [ast.unparse(one) for one in statement.targets] == [operand.id]:
        alone = len(module.table.block_of(statement)) == 1
        return None if alone else Offer(title, module, (DropStatement(statement, commented=True),))
    return Offer(title, module, (replaced(call, "$reduced", reduced=operand),))


def _reduction(call: ast.expr, module: Module, resolver: Resolver) -> str | None:
    """The reduction over all of an axis that a call is, where it changes nothing to do it twice."""
    if not isinstance(call, ast.Call) or not call.args or isinstance(call.args[0], ast.Starred):
        return None
    callee = resolver.value(call.func, module)
    if not isinstance(callee, External) or callee.name not in IDEMPOTENT:
        return None
    return None if any(one.arg in (None, "axis_index_groups") for one in call.keywords) else callee.name


def _is_repeated(outer: ast.Call, inner: ast.Call, module: Module, resolver: Resolver) -> bool:
    """Whether a call reduces over axes over which another has reduced in the same way."""
    name = _reduction(outer, module, resolver)
    if name is None or _reduction(inner, module, resolver) != name:
        return False
    axes = [axis_argument(name, call_arguments(one, module)) for one in (outer, inner)]
    if axes[0] is None or axes[1] is None:
        return False
    known = [axis_names(one, module, resolver, {}) for one in axes if one is not None]
    if known[0] is not None and known[1] is not None:
        return {*known[0]} <= {*known[1]}
    if not isinstance(axes[0], ast.Name) or not isinstance(axes[1], ast.Name) or axes[0].id != axes[1].id:
        return False
    bindings = [only_binding(one, module) for one in axes if isinstance(one, ast.Name)]
    return bindings[0] is not None and bindings[0] is bindings[1]


def _is_in(binding: Binding, name: ast.Name, module: Module) -> bool:
    """Whether a name is read in the function, or the part of it, that binds it."""
    return module.table.scope_of.get(name) is binding.scope


def _may_change(name: ast.Name, binding: Binding, module: Module, resolver: Resolver) -> bool:
    """Whether a tree may have been changed in place between what made it and where it is reduced again."""
    first = getattr(binding.node, "lineno", 0)
    for node in ast.walk(binding.scope.node):
        if not first <= getattr(node, "lineno", 0) <= name.lineno:
            continue
        if any(isinstance(one, ast.Name) and one.id == name.id for one in _changed_by(node, module, resolver)):
            return True
    return False


def _changed_by(node: ast.AST, module: Module, resolver: Resolver) -> Iterator[ast.expr]:
    """What a node may change in place: what it stores into, whose method it calls, what it gives to code of others."""
    if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
        owner = node.value
        while isinstance(owner, ast.Subscript | ast.Attribute):
            owner = owner.value
        yield owner
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        yield node.value.func.value
    if isinstance(node, ast.Call) and not isinstance(resolver.value(node.func, module), External):
        yield from (*node.args, *(keyword.value for keyword in node.keywords))
