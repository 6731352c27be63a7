"""Returned values that are surely one array, which `x[None]` gives the mapped axis: keys, what jax.numpy gives."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from jaxmigrate.migrate.keys import unpacks_name
from jaxmigrate.program.scopes import FunctionNode

ONE_ARRAY = frozenset(  # functions of jax.numpy that give one array, whatever they are given
    {
        *("abs", "add", "all", "any", "arange", "argmax", "argmin", "argsort", "array", "array_equal", "asarray"),
        *("broadcast_to", "clip", "concatenate", "cos", "cumsum", "divide", "dot", "einsum", "equal", "exp"),
        *("expand_dims", "eye", "full", "full_like", "inner", "isfinite", "isnan", "linspace", "log", "logical_and"),
        *("logical_not", "logical_or", "matmul", "max", "maximum", "mean", "median", "min", "minimum", "moveaxis"),
        *("multiply", "ones", "ones_like", "outer", "power", "prod", "ravel", "repeat", "reshape", "roll", "round"),
        *("sign", "sin", "sort", "sqrt", "square", "squeeze", "stack", "std", "subtract", "sum", "swapaxes", "take"),
        *("tanh", "tile", "transpose", "var", "vdot", "zeros", "zeros_like"),
    }
)
REDUCES = re.compile(r"(^|\.)lax\.(all_gather|pmax|pmean|pmin|psum|stop_gradient)$")  # of an array they give one


def is_array(function: FunctionNode, value: ast.expr, numpy: str, keys: Collection[str] = ()) -> bool:
    """Whether a value that a function returns is surely one array; `numpy` is what its file calls jax.numpy.

    `keys` are the names that stand for a key where they are parameters, or parts of one.
    """
    if _is_key(function, value, keys) or _is_made(value, numpy):
        return True
    if not isinstance(value, ast.Name) or isinstance(function, ast.Lambda):
        return False
    made = _only_assigned(function, value.id)
    return bool(made) and all(_is_made(one, numpy) for one in made)


def _is_made(value: ast.expr, numpy: str) -> bool:
    """Whether an expression is one array by itself: a call, or an operator with such an operand."""
    match value:
        case ast.Compare(ops=[ast.Is() | ast.IsNot() | ast.In() | ast.NotIn()]):
            return False
        case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
            return _is_made(left, numpy) or _is_made(right, numpy)
        case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=operand):
            return _is_made(operand, numpy)
        case ast.Call(func=func, args=[given, *_]) if REDUCES.search(ast.unparse(func)):
            return _is_made(given, numpy)
        case ast.Call(args=[_, _, _], keywords=[]) if ast.unparse(value.func) == f"{numpy}.where":
            return True
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    return value.func.attr in ONE_ARRAY and ast.unparse(value.func.value) == numpy


def _only_assigned(function: FunctionNode, name: str) -> list[ast.expr]:
    """What plain assignments bind a name to; nothing where it is bound in any other way."""
    found = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and _is_name(node.targets[0], name)
    ]
    bound = [n for n in ast.walk(function) if _is_name(n, name) and not isinstance(getattr(n, "ctx", None), ast.Load)]
    given = any(isinstance(node, ast.arg) and node.arg == name for node in ast.walk(function))
    return found if len(bound) == len(found) and not given else []


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_key(function: FunctionNode, value: ast.expr, keys: Collection[str]) -> bool:
    """Whether a returned value is surely one array: what `jax.random` gives, or a key that its `split` gave."""
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).startswith("jax.random.") and not ast.unparse(value.func).endswith("impl")
    if not isinstance(value, ast.Name) or isinstance(function, ast.Lambda):
        return False
    bound = [
        s
        for s in ast.walk(function)
        if isinstance(s, ast.Assign)
        and any(isinstance(n, ast.Name) and n.id == value.id for t in s.targets for n in ast.walk(t))
    ]
    return bool(bound) and all(_splits(s) or (value.id in keys and unpacks_name(s)) for s in bound)


def _splits(statement: ast.Assign) -> bool:
    """Whether a statement unpacks keys: each name stands for one."""
    target, value = statement.targets[0], statement.value
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute | ast.Name):
        return False
    text = ast.unparse(value.func)
    one = isinstance(target, ast.Name) and text.endswith(("random.fold_in", "random.key", "random.PRNGKey"))
    parts = isinstance(target, ast.Tuple) and not any(isinstance(e, ast.Starred) for e in target.elts)
    return one or (parts and len(statement.targets) == 1 and text.endswith("random.split"))
