"""Which expressions certainly give one array, and which dictionaries of nothing but arrays."""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout.shape_texts import is_ellipsis
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, External, Value

ARRAYS = frozenset(
    {"arange", "array", "asarray", "cos", "empty", "exp", "eye", "full", "identity", "linspace", "log", "maximum"}
    | {"mean", "minimum", "ones", "ones_like", "sin", "sqrt", "sum", "tanh", "tril", "triu", "where", "zeros"}
    | {"zeros_like", "concatenate", "stack", "dot", "matmul", "float32", "int32", "broadcast_to", "reshape"}
)
KEYS = frozenset({"PRNGKey", "bernoulli", "fold_in", "key", "normal", "randint", "split", "uniform"})
STRONG = named("strong")
CONVERTS = named("array-of")


def makes_array(resolver: Resolver, node: ast.expr, module: Module) -> bool:
    """Whether an expression certainly gives one array, and no container."""
    if isinstance(node, ast.BinOp):
        return makes_array(resolver, node.left, module) or makes_array(resolver, node.right, module)
    values = resolver.values(node, module)
    return bool(values) and all(isinstance(v, Application) and _is_creation(v.callee) for v in values)


def makes_strong(resolver: Resolver, node: ast.expr, module: Module) -> bool:
    """Whether an expression certainly gives one array whose dtype is not weak."""
    if isinstance(node, ast.BinOp):
        return makes_strong(resolver, node.left, module) or makes_strong(resolver, node.right, module)
    values = resolver.values(node, module)
    made = [v.callee for v in values if isinstance(v, Application) and _is_creation(v.callee)]
    return bool(values) and len(made) == len(values) and all(map(_is_strong, made))


def makes_jax_array(resolver: Resolver, node: ast.expr, module: Module) -> bool:
    """Whether an expression certainly gives one array of JAX's, which nothing can write into."""
    values = resolver.values(node, module)
    made = [v.callee for v in values if isinstance(v, Application) and isinstance(v.callee, External)]
    of_jax = [one for one in made if _is_creation(one) and one.name.startswith("jax.")]
    return bool(values) and len(of_jax) == len(values)


def copied(resolver: Resolver, node: ast.expr, module: Module) -> ast.expr | None:
    """x of `jnp.array(x)`, which has its shape."""
    match node:
        case ast.Call(args=[ast.Name() as given], keywords=named) if all(one.arg == "dtype" for one in named):
            value = resolver.value(node.func, module)
            return given if isinstance(value, External) and value.name in CONVERTS else None
    return None


def is_array(node: ast.expr, module: Module) -> bool:
    """Whether an expression is certainly one array: what is sliced along several axes, there or just before."""
    match node:
        case ast.Subscript(slice=ast.Tuple(elts=indices)):
            return any(isinstance(i, ast.Slice) or is_ellipsis(i) for i in indices)
        case ast.Name(id=name):
            match last_named_before(node, name, module):
                case ast.Assign(targets=[ast.Name(id=made)], value=value):
                    return made == name and not isinstance(value, ast.Name) and is_array(value, module)
    return False


def holds_arrays(resolver: Resolver, node: ast.expr, module: Module) -> bool:
    """Whether an expression is certainly a dictionary of nothing but arrays."""
    values = entries(node, module)
    return bool(values) and all(makes_array(resolver, one, module) for one in values)


def entries(node: ast.expr, module: Module) -> list[ast.expr]:
    """What gives the values of a dictionary that is made there or just before; none where that is not certain."""
    match node:
        case ast.DictComp(value=value):
            return [value]
        case ast.Dict(keys=keys, values=values):
            return values if None not in keys else []
        case ast.Name(id=name):
            match last_named_before(node, name, module):
                case ast.Assign(targets=[ast.Name(id=made)], value=ast.DictComp() | ast.Dict() as value):
                    return entries(value, module) if made == name else []
    return []


def last_named_before(node: ast.expr, name: str, module: Module) -> ast.stmt | None:
    """The statement of the same block that last names a variable before an expression, and so gives it its value."""
    if any(name in scope.outer_names for scope in module.table.own_scope.values()):
        return None
    statement = module.table.statement_of(node)
    block = module.table.block_of(statement)
    before = block[: block.index(statement)] if statement in block else []
    named = (s for s in reversed(before) if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(s)))
    return next(named, None)


def _is_creation(callee: Value) -> bool:
    home, _, name = callee.name.rpartition(".") if isinstance(callee, External) else ("", "", "")
    return (home in ("jax.numpy", "numpy") and name in ARRAYS) or (home == "jax.random" and name in KEYS)


def _is_strong(callee: Value) -> bool:
    """Whether a function's arrays have a dtype of their own: `full`, `asarray` and the like keep a Python number's."""
    name = callee.name if isinstance(callee, External) else ""
    return name in STRONG or name.startswith(("numpy.", "jax.random."))
