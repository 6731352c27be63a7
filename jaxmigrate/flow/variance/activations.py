"""The call that a function was entered by, where its result is followed back to what that call passed.

Without it, what one call of a helper is passed would seem to reach the results of all others.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import NamedTuple

from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import FunctionNode, Scope, walk
from jaxmigrate.program.values import Function

DEEPEST = 8  # calls within calls; further down, all calls of a function count


class Entered(NamedTuple):
    """A function, the call that entered it, and the call that a function around it was entered by, if that is known."""

    function: FunctionNode
    call: ast.Call
    place: Place
    around: Entered | None
    depth: int


class Place(NamedTuple):
    """An expression in a module, and how the function that it stands in was entered; None for any of its calls."""

    node: ast.expr
    module: Module
    entered: Entered | None


def enter(callee: Function, place: Place) -> Entered | None:
    """How a call enters a function; None where it may pass something else than what stands there, or is too deep.

    A method is passed its object, too, and a decorator may pass anything. A function that calls itself is one function.
    """
    call, node = place.node, callee.node
    depth = place.entered.depth + 1 if place.entered is not None else 1
    scope = callee.module.table.own_scope.get(node)
    is_plain = isinstance(node, ast.Lambda) or (isinstance(node, ast.FunctionDef) and not node.decorator_list)
    if not isinstance(call, ast.Call) or not is_plain or scope is None or scope.parent is None or depth > DEEPEST:
        return None
    current = place.entered
    while current is not None:
        if current.function is node:
            return None
        current = current.place.entered
    if scope.parent.kind == "class" or yielded(node):
        return None
    around = surrounding(scope.parent, place.entered) if _is_by_name(call, scope.parent, place.module) else None
    return Entered(node, call, place, around, depth)


def _is_by_name(call: ast.Call, home: Scope, module: Module) -> bool:
    """Whether a call is by a name that its scope, or one around it, gives to one thing alone."""
    scope = module.table.scope_of.get(call.func)
    holder = scope.lookup(call.func.id) if scope is not None and isinstance(call.func, ast.Name) else None
    return holder is home and isinstance(call.func, ast.Name) and len(home.bindings[call.func.id]) == 1


def surrounding(scope: Scope, entered: Entered | None) -> Entered | None:
    """How the function that a scope belongs to was entered, as far as the one is known that is being followed."""
    owner: Scope | None = scope
    while owner is not None and owner.kind != "function":
        owner = owner.parent
    while entered is not None and (owner is None or entered.function is not owner.node):
        entered = entered.around
    return entered


def default_of(spec: ast.arguments, name: str) -> ast.expr | None:
    """What a parameter stands for where a call passes nothing for it."""
    positional = [*spec.posonlyargs, *spec.args]
    plain = zip(reversed(positional), reversed(spec.defaults), strict=False)
    for parameter, default in (*plain, *zip(spec.kwonlyargs, spec.kw_defaults, strict=True)):
        if parameter.arg == name:
            return default
    return None


@lru_cache(maxsize=512)
def yielded(node: FunctionNode) -> tuple[ast.expr, ...]:
    """What a function gives where it is a generator, and functions in it."""
    yields = (inner.value for inner in walk(node) if isinstance(inner, ast.Yield | ast.YieldFrom))
    return tuple(value for value in yields if value is not None)
