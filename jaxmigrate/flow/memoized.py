"""Functions that do their work once, and later give back what they have stored."""

from __future__ import annotations

import ast

from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Application, Function, Value

CACHES = frozenset({"cache", "lru_cache", "cached_property", "memoize"})


def is_memoized(value: Value) -> bool:
    """Whether a function gives back what an earlier call has stored, so that a call need not do what it holds.

    By a decorator, or as in `found = config.run_id; if found: return found; ...; config.run_id = found`.
    """
    function = value.callee if isinstance(value, Application) else value
    node = function.node if isinstance(function, Function) else None
    if not isinstance(node, ast.FunctionDef):
        return False
    decorators = (one.func if isinstance(one, ast.Call) else one for one in node.decorator_list)
    if any(last_name(one) in CACHES for one in decorators):
        return True
    for index, statement in enumerate(node.body):
        match statement:
            case ast.If(test=test, body=[*_, ast.Return(value=ast.expr() as given)], orelse=[]):
                names = _texts(test) & _texts(given)
                above = [one for one in node.body[:index] if isinstance(one, ast.Assign) and _is_stored(one.value)]
                before = [target for one in above for target in _targets(one)]
                behind = node.body[index + 1 :]
                if any(one in before and _stores(behind, one) for one in names) or any(
                    _is_place(one) and one in {t for s in behind if isinstance(s, ast.Assign) for t in _targets(s)}
                    for one in names
                ):
                    return True
    return False


def _texts(node: ast.expr) -> set[str]:
    """The names and places in an expression, as they are written."""
    return {ast.unparse(one) for one in ast.walk(node) if isinstance(one, ast.Name | ast.Attribute | ast.Subscript)}


def _targets(statement: ast.Assign) -> list[str]:
    return [ast.unparse(one) for one in statement.targets]


def _is_place(text: str) -> bool:
    return "." in text or "[" in text


def _is_stored(value: ast.expr) -> bool:
    """Whether an expression reads what was stored: `config.id`, `cache.get(key)`, `getattr(o, "id")`."""
    match value:
        case ast.Attribute() | ast.Subscript():
            return True
        case ast.Call(func=function):
            return last_name(function) in ("get", "getattr")
    return False


def _stores(body: list[ast.stmt], name: str) -> bool:
    """Whether some statements put the value of a name where a later call finds it."""
    for statement in body:
        match statement:
            case ast.Assign(value=ast.Name(id=stored)) if stored == name and any(map(_is_place, _targets(statement))):
                return True
            case ast.Expr(value=ast.Call(func=function, args=arguments)) if "set" in last_name(function):
                if any(isinstance(one, ast.Name) and one.id == name for one in arguments):
                    return True
    return False
