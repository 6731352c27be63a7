"""Gradients that are clipped or tested and then reduced, by their names: where it is not in sight what they are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.stacked_names import nearest
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External

GRADIENTS = re.compile(r"(^|_)grad(s|ient|ients)?(_|$)")
CLIPS = re.compile(r"(^|_)clip(_|ped|$)|clip_by")
NORMS = re.compile(r"norm$|norms$")
REDUCES = ("pmean", "psum")
REDUCING = frozenset({*REDUCES, "pmin", "pmax", "all_gather"})
FINITE = re.compile(r"(^|_)(all_?)?(is_?)?(finite|nan|inf)($|_)|isfinite|isnan|isinf")
STEPS = 3  # names that are followed back to what a factor is made of


def early_norms(facts: Facts) -> Iterator[tuple[Module, ast.Call]]:
    """Reductions of what is called gradients, and that a norm of these has changed right before."""
    for module, call in facts.calls(*REDUCES):
        if not call.args or not isinstance(facts.resolver.value(call.func, module), External):
            continue
        given = call.args[0].elts if isinstance(call.args[0], ast.Tuple | ast.List) else call.args[:1]
        if any(_is_clipped_before(one, module) for one in given):
            yield module, call


def kept_norms(facts: Facts) -> Iterator[tuple[Module, ast.Call]]:
    """Norms of a device's own gradients that are kept as they are, above the reduction of these by the same name."""
    for module, call in facts.calls(*REDUCES):
        statement, function = module.table.statement_of(call), module.table.function_of(call)
        if not isinstance(statement, ast.Assign) or not isinstance(function, ast.FunctionDef) or not call.args:
            continue
        given = call.args[0]
        if not isinstance(given, ast.Name) or not GRADIENTS.search(given.id.lower()):
            continue
        if [ast.unparse(one) for one in statement.targets] != [given.id]:
            continue
        if not isinstance(facts.resolver.value(call.func, module), External):
            continue
        norms = [(one, module.table.statement_of(one)) for one in _norms_of(given.id, function)]
        if not any(one.lineno > statement.lineno for one, _ in norms):
            block = module.table.block_of(statement)
            yield from ((module, one) for one, held in norms if isinstance(held, ast.Assign) and _is_kept(held, block))


def _norms_of(name: str, function: ast.FunctionDef) -> Iterator[ast.Call]:
    calls = (one for one in ast.walk(function) if isinstance(one, ast.Call) and NORMS.search(last_name(one.func)))
    return (one for one in calls if any(_is_named(a, name) for a in one.args))


def _is_kept(statement: ast.Assign, block: list[ast.stmt]) -> bool:
    """Whether a statement puts a norm, and nothing made of it, into what is logged, in the block of the reduction."""
    target = statement.targets[0]
    entered = isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant)
    return (
        statement in block and entered and isinstance(statement.value, ast.Call) and "local" not in ast.unparse(target)
    )


def _is_clipped_before(given: ast.expr, module: Module) -> bool:
    """Whether what is called gradients was clipped where it was last assigned."""
    if not isinstance(given, ast.Name) or not GRADIENTS.search(given.id.lower()):
        return False
    made = nearest(given, module)
    return made is not None and made.value is not None and not made.path and _is_clipped(made.value, given.id, module)


def _is_clipped(value: ast.expr, name: str, module: Module) -> bool:
    """Whether a value is made of gradients of that name by clipping them, or by a factor that their norm is in."""
    if not isinstance(value, ast.Call) or not any(_is_named(one, name) for one in value.args):
        return False
    if CLIPS.search(last_name(value.func)):
        return True
    scaled = value.args[0] if value.args else None
    if not isinstance(scaled, ast.Lambda) or not isinstance(scaled.body, ast.BinOp):
        return False
    if not isinstance(scaled.body.op, ast.Mult | ast.Div):
        return False
    factors = [one for one in (scaled.body.left, scaled.body.right) if isinstance(one, ast.Name)]
    own = {one.arg for one in scaled.args.args}
    return any(_holds_norm(one, name, module, STEPS) for one in factors if one.id not in own)


def _is_named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _above(node: ast.Name, module: Module) -> Binding | None:
    """The assignment of a name that stands nearest above, also of a function around a lambda that reads it."""
    scope = module.table.scope_of.get(node)
    holder = scope.lookup(node.id) if scope is not None else None
    bindings = holder.bindings[node.id] if holder is not None else []
    above = [one for one in bindings if getattr(one.node, "end_lineno", node.lineno) < node.lineno]
    return max(above, key=lambda one: getattr(one.node, "lineno", 0)) if above else None


def _holds_norm(node: ast.Name, name: str, module: Module, steps: int) -> bool:
    """Whether a number is made of the norm of gradients of that name."""
    made = _above(node, module)
    if made is None or made.value is None or made.path or not steps:
        return False
    inner = [*ast.walk(made.value)]
    for one in inner:
        if (
            isinstance(one, ast.Call)
            and NORMS.search(last_name(one.func))
            and any(_is_named(a, name) for a in one.args)
        ):
            return True
    names = (one for one in inner if isinstance(one, ast.Name) and one.id != node.id)
    return any(_holds_norm(one, name, module, steps - 1) for one in names)


def early_tests(facts: Facts) -> Iterator[tuple[Module, ast.expr]]:
    """Tests whether a device's own gradients are finite, unreduced and used once the gradients are reduced."""
    for module, call in facts.calls(*REDUCES):
        statement = module.table.statement_of(call)
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target, function = statement.targets[0], module.table.function_of(statement)
        if not isinstance(target, ast.Name) or not GRADIENTS.search(target.id.lower()) or function is None:
            continue
        if not any(_is_named(n, target.id) for n in ast.walk(statement.value)):
            continue
        if not isinstance(facts.resolver.value(call.func, module), External):
            continue
        for test, name in _tests_before(statement, target.id, function, module):
            after = [n for n in module.table.named.get(name, ()) if n.lineno > statement.lineno]
            used = [n for n in after if module.table.function_of(n) is function and isinstance(n, ast.Name)]
            if used and not any(_is_reduced(n, module) or isinstance(n.ctx, ast.Store) for n in used):
                yield module, test


def _tests_before(
    statement: ast.stmt, gradients: str, function: ast.AST, module: Module
) -> Iterator[tuple[ast.expr, str]]:
    """The tests of some gradients above a statement, with the names that they are given."""
    for node in module.table.named.get(gradients, ()):
        if not isinstance(node, ast.Name) or node.lineno >= statement.lineno:
            continue
        made = module.table.statement_of(node)
        if module.table.function_of(node) is not function or not isinstance(made, ast.Assign) or len(made.targets) != 1:
            continue
        name, inner = made.targets[0], made.value
        if isinstance(name, ast.Name) and any(
            isinstance(one, ast.Call) and FINITE.search(last_name(one.func)) and node in ast.walk(one)
            for one in ast.walk(inner)
        ):
            reduced = any(isinstance(one, ast.Call) and last_name(one.func) in REDUCING for one in ast.walk(inner))
            if not reduced:
                yield inner, name.id


def _is_reduced(node: ast.AST, module: Module) -> bool:
    """Whether what a name holds is reduced where that is read."""
    while not isinstance(node, ast.stmt):
        node = module.table.parents[node]
        if isinstance(node, ast.Call) and last_name(node.func) in REDUCING:
            return True
    return False
