"""A try that asks whether an axis is bound: `try: axis_index(name); return pmean(x)`, `except NameError: return x`.

JAX raises a NameError for an axis that no map binds, so that libraries share functions between mapped code and code
that is not. Under the map that is read the axis is bound: where nothing else in the body can raise a NameError, its
handler never runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.flow.variance import collectives
from jaxmigrate.flow.variance.callees import Bound
from jaxmigrate.flow.variance.frames import Arguments, Frame
from jaxmigrate.flow.variance.lattice import AbstractValue, Fields
from jaxmigrate.flow.variance.run import Run
from jaxmigrate.program.collectives import ASKING, AXIS_POSITIONS
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.syntax import has_stars
from jaxmigrate.program.trees import ANY_TREE_MAPS
from jaxmigrate.program.values import External

TREE_MAPS = frozenset(map(External, ANY_TREE_MAPS))
PLAIN_NODES = (ast.Constant, ast.Tuple, ast.Load, ast.Store, ast.keyword, ast.Expr, ast.Return, ast.Assign)


def is_unreachable(run: Run, handler: ast.ExceptHandler, tried: ast.Try | ast.TryStar, frame: Frame) -> bool:
    """Whether a handler is one of NameErrors, and all that the body can raise one for is an axis, which is bound."""
    if not run.axes or handler.type is None or not _is_name_error(run, handler.type, frame):
        return False
    body = [*tried.body, *tried.orelse]
    return any(isinstance(n, ast.Call) for one in body for n in ast.walk(one)) and all(
        _cannot_raise_it(run, node, frame) for one in body for node in _nodes(one)
    )


def _is_name_error(run: Run, node: ast.expr, frame: Frame) -> bool:
    return run.resolver.value(node, frame.module) == External("builtins.NameError")


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement, without those of what its calls call: these are asked for as a whole."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.Call) and child is node.func):
            yield from _nodes(child)


def _cannot_raise_it(run: Run, node: ast.AST, frame: Frame) -> bool:
    match node:
        case ast.Call(func=ast.Name() | ast.Attribute()):
            names = (n for n in ast.walk(node.func) if isinstance(n, ast.Name))
            return all(_is_bound(name, frame) for name in names) and _asks_for_bound(run, node, frame)
        case ast.Name(ctx=ast.Load()):
            return _is_bound(node, frame)
        case ast.Name():
            return True
    return isinstance(node, PLAIN_NODES)


def _is_bound(name: ast.Name, frame: Frame) -> bool:
    """Whether a name certainly has a value: a parameter, or what its module binds above, once and under no condition.

    A function runs after it is defined, when all that stands above it has a value.
    """
    scope = frame.module.table.scope_of.get(name)
    holder = scope.lookup(name.id) if scope is not None else None
    if holder is None or _is_deleted(name.id, frame):
        return False
    found = holder.bindings[name.id]
    if holder.kind == "function":
        return any(one.kind == "param" for one in found)
    return holder.kind == "module" and len(found) == 1 and _is_bound_above(found[0], name, frame)


def _is_deleted(name: str, frame: Frame) -> bool:
    """Whether a module deletes something of that name anywhere."""
    targets = (t for n in ast.walk(frame.module.tree) if isinstance(n, ast.Delete) for t in n.targets)
    return any(isinstance(one, ast.Name) and one.id == name for t in targets for one in ast.walk(t))


def _is_bound_above(binding: Binding, name: ast.Name, frame: Frame) -> bool:
    """Whether a statement of the module itself binds a name before that in which it is read."""
    for statement in frame.module.tree.body:
        imports = isinstance(statement, ast.Import | ast.ImportFrom) and binding.node in statement.names
        if binding.node is statement or imports:
            return statement.lineno < name.lineno and name.lineno > (statement.end_lineno or 0)
    return False


def _asks_for_bound(run: Run, call: ast.Call, frame: Frame) -> bool:
    """Whether a call asks for the axis that is bound, or reduces over it, alone or for each leaf of a tree."""
    if has_stars(call):
        return False
    own = [run.evaluate(one, frame) for one in call.args]
    named = Fields({k.arg: run.evaluate(k.value, frame) for k in call.keywords if k.arg is not None})
    function = run.evaluate(call.func, frame)
    if own and function.static in TREE_MAPS and not named:
        return _is_over_bound(run, own[0], Arguments(tuple(own[1:])), frame)
    return _is_over_bound(run, function, Arguments(tuple(own), named), frame)


def _is_over_bound(run: Run, function: AbstractValue, given: Arguments, frame: Frame) -> bool:
    """Whether a call asks for, or reduces over, the axis of the map alone."""
    while isinstance(bound := run.known_callee(function), Bound):
        given = Arguments((*bound.given, *given.given), Fields({**dict(bound.named), **given.named}))
        function = bound.callee
    name = function.static.name if isinstance(function.static, External) else ""
    if None in run.shadowed or not (name in ASKING or name in AXIS_POSITIONS):
        return False
    return collectives.axes_of(run, name, given, None, frame) == run.axes
