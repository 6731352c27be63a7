"""What a function takes a parameter for, by what is written of it: an array, or something that is none.

The annotation says so, or what the body does with it: draws with a key, applies gradients, tests a flag, counts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode, all_parameters, defaults_of
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External

ARRAY_TYPES = re.compile(r"^(ndarray|Array|ArrayLike|PRNGKey|KeyArray|PRNGKeyArray|TrainState|OptState|ArrayTree)$")
HOST_TYPES = re.compile(r"^(bool|str|Callable)$")
NUMBERS = frozenset({"int", "float"})
METHODS = frozenset({"apply_gradients", "astype", "reshape", "transpose", "mean", "sum", "at"})
RANDOM = "jax.random."
MAKES_KEYS = frozenset({"jax.random.PRNGKey", "jax.random.key"})


def annotated(function: FunctionNode, name: str) -> str:
    """The last name of a parameter's annotation, empty where it has none."""
    found = next((one.annotation for one in all_parameters(function.args) if one.arg == name), None)
    found = found.value if isinstance(found, ast.Subscript) else found
    if isinstance(found, ast.Constant) and isinstance(found.value, str):
        return found.value.rpartition(".")[2]
    return last_name(found) if found is not None else ""


def is_array_for(function: FunctionNode, name: str, module: Module, resolver: Resolver) -> bool:
    """Whether a function takes a parameter for an array, or a tree of them."""
    if ARRAY_TYPES.match(annotated(function, name)):
        return True
    for read in _reads(function, name):
        parent = module.table.parents.get(read)
        match parent:
            case ast.Attribute(attr=method) if method in METHODS:
                return True
            case ast.Call(args=[first, *_]) if first is read:
                callee = resolver.value(parent.func, module)
                if isinstance(callee, External) and callee.name.startswith(RANDOM) and callee.name not in MAKES_KEYS:
                    return True
    return False


def is_of_host_for(function: FunctionNode, name: str, module: Module) -> bool:
    """Whether a function takes a parameter for what is no array: it asks whether it holds, or counts up to it.

    What has a default may be left out, and is no array then either.
    """
    if any(one == name for one, _ in defaults_of(function.args)):
        return False
    if HOST_TYPES.match(annotated(function, name)):
        return True
    reads = [*_reads(function, name)]
    parents = [module.table.parents.get(read) for read in reads]
    if any(isinstance(one, ast.Subscript | ast.Attribute | ast.For | ast.keyword) for one in parents):
        return False  # a dictionary or list of arrays, which may be empty
    return any(_is_asked(read, module) for read in reads)


def _is_asked(read: ast.Name, module: Module) -> bool:
    node: ast.AST = read
    parent = module.table.parents.get(node)
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
        node, parent = parent, module.table.parents.get(parent)
    match parent:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            return test is node
        case ast.Call(func=ast.Name(id="range"), args=args):
            return node in args
        case ast.Compare(left=left, comparators=[ast.Constant(value=str())]):
            return left is node
    return False


def _reads(function: FunctionNode, name: str) -> Iterator[ast.Name]:
    """Where a function reads a parameter that it never binds again."""
    found = [one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id == name]
    if all(isinstance(one.ctx, ast.Load) for one in found):
        yield from found
