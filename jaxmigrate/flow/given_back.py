"""Whether a function returns a new value of a parameter, of its shape, so that it can take the memory of that.

JAX deletes what is donated where an output has the same shape, type and sharding; else it keeps it, with a warning.
"""

from __future__ import annotations

import ast
import re

from jaxmigrate.program.functions import own_statements
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.syntax import last_name

UPDATES = frozenset(
    {"partition", "combine", "replace", "_replace", "apply_gradients", "apply_updates", "map", "tree_map", "pmean"}
)
RESHAPES = re.compile(
    r"^_?(concat|stack|reshape|squeeze|expand|split|mean$|sum$|max$|min$|norm|take|unreplicate|unstack|tile)"
)


def gives_back(function: FunctionNode, parameter: str) -> bool:
    """Whether a function returns an update of what it is given for a parameter."""
    made_of = {parameter}
    if isinstance(function, ast.Lambda):
        return bool(_kept(function.body, made_of))
    statements = list(own_statements(function))
    for node in sorted((n for n in statements if isinstance(n, ast.Assign)), key=lambda n: n.lineno):
        if _kept(node.value, made_of) or _is_next_key(node, made_of):
            made_of |= {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    return any(isinstance(n, ast.Return) and n.value is not None and _kept(n.value, made_of) for n in statements)


def _kept(node: ast.expr, names: set[str]) -> bool:
    """Whether an expression is one of some names, or an update of it that has its shape."""
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return any(_kept(element, names) for element in elements)
        case ast.Dict(keys=keys, values=values):
            return any(_is_entry_kept(*pair, names) for pair in zip(keys, values, strict=True))
        case ast.Call(func=ast.Attribute(value=ast.Subscript(value=ast.Attribute(value=owner, attr="at")))):
            return _kept(owner, names)
        case ast.Call(func=ast.Attribute(attr="update" | "scan" | "fori_loop" | "while_loop"), args=args):
            return any(_kept(one, names) for one in args)  # an optimiser's state, a carry
        case ast.BinOp(left=left, right=right):
            return _kept(left, names) or _kept(right, names)
        case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in UPDATES and _kept(owner, names):
            return True
        case ast.Call(func=func, args=args) if last_name(func) in UPDATES:
            return any(_kept(one, names) for one in args) and not (args and _reshapes(args[0]))
    return False


def _reshapes(function: ast.expr) -> bool:
    """Whether a function for `tree.map` gives arrays of another shape than it is given."""
    made = function.body if isinstance(function, ast.Lambda) else function
    if isinstance(made, ast.Subscript):
        return True
    named = made.func if isinstance(made, ast.Call) else made
    return RESHAPES.search(last_name(named)) is not None and isinstance(named, ast.Name | ast.Attribute)


def _is_entry_kept(key: ast.expr | None, value: ast.expr, names: set[str]) -> bool:
    """Whether an entry of a dictionary is a new one of the same entry: `{"w": state["w"] - grad}`."""
    sides: list[ast.AST]
    match key, value:
        case None, _:
            return _kept(value, names)
        case ast.Constant(value=one), ast.BinOp(left=left, right=right):
            sides = [inner for side in (left, right) for inner in ast.walk(side)]
        case ast.Constant(value=one), _:
            sides = [value]
        case _:
            return False
    for side in sides:
        match side:
            case ast.Subscript(value=owner, slice=ast.Constant(value=other)) if other == one and _kept(owner, names):
                return True
    return False


def _is_next_key(node: ast.Assign, names: set[str]) -> bool:
    """Whether an assignment splits a key: `key, own = jax.random.split(key)` gives others of its shape."""
    match node:
        case ast.Assign(targets=[ast.Tuple()], value=ast.Call(func=function, args=[ast.Name(id=name)], keywords=[])):
            return name in names and re.search(r"(random|jr|jrandom|rand)\.split$", ast.unparse(function)) is not None
    return False
