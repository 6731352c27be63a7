"""Which functions only read what they are given, so that they may be given a copy of it in another layout.

A copy is as good as the original where nobody can tell them apart: the function changes nothing in it, keeps none of
its containers, and hands none of them on. Arrays themselves cannot be changed; the containers around them can.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxmigrate.flow.layout.idioms import is_generator
from jaxmigrate.flow.layout.onlookers import ROUND_NAMES
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import own_statements
from jaxmigrate.program.scopes import Scope, positional_names
from jaxmigrate.program.values import External, Function, Value

if TYPE_CHECKING:
    from jaxmigrate.flow.layout.interpreter import Interpreter

READERS = (
    *("jax.tree.", "jax.tree_util.tree_", "jax.numpy.", "jax.device_get", "jax.random.", "jax.nn.", "numpy."),
    *("flax.jax_utils.", "flax.serialization.to_bytes", "flax.traverse_util.flatten_dict", "absl.logging.", "logging."),
    *("chex.assert_", "clu.parameter_overview.", "json.dumps", "math.", "optax.global_norm", "pprint."),
)
READING_BUILTINS = frozenset(
    f"builtins.{name}"
    for name in ("bool", "float", "format", "hasattr", "int", "isinstance", "len", "print", "repr", "str")
)
READING_METHODS = frozenset(
    {"all", "any", "argmax", "argmin", "astype", "copy", "item", "max", "mean", "min", "ravel", "reshape"}
    | {"squeeze", "std", "sum", "tolist", "transpose", "var"}
)
FACTS = frozenset({"dtype", "itemsize", "nbytes", "ndim", "shape", "size", "weak_type"})  # of an array


def reads_only(it: Interpreter, function: Function, name: str) -> bool:
    """Whether a function of the project does nothing but read what one of its parameters holds."""
    key = (function.node, name)
    if key not in it.readers:
        it.readers[key] = False  # what calls itself is not looked into
        it.readers[key] = _reads_only(it, function, name)
    return it.readers[key]


def is_reader(name: str) -> bool:
    """Whether a function outside the project only reads what it is given, and keeps none of it."""
    return name in READING_BUILTINS or name.startswith(READERS)


def _reads_only(it: Interpreter, function: Function, name: str) -> bool:
    node, module = function.node, function.module
    if not isinstance(node, ast.FunctionDef) or is_generator(node):
        return False
    if any(isinstance(s, ast.Global | ast.Nonlocal) for s in own_statements(node)):
        return False
    if not ROUND_NAMES.isdisjoint(it.names_in(node)):
        return False
    scope = module.table.own_scope[node]
    uses = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name and n in module.table.scope_of]
    own = [n for n in uses if module.table.scope_of[n].lookup(name) is scope]
    bound_once = len(scope.bindings.get(name, ())) == 1
    return bound_once and all(isinstance(n.ctx, ast.Load) and _is_read(it, n, module, scope) for n in own)


def _is_read(it: Interpreter, node: ast.expr, module: Module, scope: Scope) -> bool:
    """Whether a use of a parameter, or of a part of it, is nothing but a look at it."""
    parents = module.table.parents
    if not _is_at_once(it, node, module, scope):
        return False
    parent = parents.get(node)
    while isinstance(parent, ast.Attribute | ast.Subscript) and parent.value is node:
        runs_code = isinstance(parent, ast.Attribute) and it.is_property(parent.attr)
        if not isinstance(parent.ctx, ast.Load) or runs_code:
            return False
        node, parent = parent, parents.get(parent)
        if isinstance(node, ast.Attribute) and node.attr in FACTS and not it.is_assigned(node.attr):
            return True
    match parent:
        case ast.Call(func=func) if func is node:
            return isinstance(node, ast.Attribute) and node.attr in READING_METHODS and not it.is_method(node.attr)
        case ast.Call(args=args) if node in args:
            return _is_given_to_reader(it, parent, args.index(node), "", module)
        case ast.keyword(arg=str(keyword)):
            call = parents.get(parent)
            return isinstance(call, ast.Call) and _is_given_to_reader(it, call, None, keyword, module)
        case ast.Compare(ops=ops, comparators=others) if any(isinstance(op, ast.Is | ast.IsNot) for op in ops):
            return all(isinstance(one, ast.Constant) for one in others)
        case ast.Compare() | ast.UnaryOp() | ast.FormattedValue() | ast.Expr():
            return True
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) | ast.Assert(test=test):
            return test is node
    return False


def _is_at_once(it: Interpreter, node: ast.expr, module: Module, scope: Scope) -> bool:
    """Whether a use runs while the function does: in its own statements, or in a lambda that a reader calls."""
    holder = module.table.scope_of.get(node)
    while holder is not None and holder is not scope:
        if holder.kind != "comprehension":
            call = module.table.parents.get(holder.node)
            if not (isinstance(holder.node, ast.Lambda) and isinstance(call, ast.Call) and holder.node in call.args):
                return False
            if not all(isinstance(v, External) and is_reader(v.name) for v in it.resolver.values(call.func, module)):
                return False
        elif isinstance(holder.node, ast.GeneratorExp):
            return False
        holder = holder.parent
    return holder is scope


def _is_given_to_reader(it: Interpreter, call: ast.Call, index: int | None, keyword: str, module: Module) -> bool:
    """Whether all functions that a call may be of only read one of its arguments."""
    if any(isinstance(a, ast.Starred) for a in call.args) or keyword == "out":
        return False
    values = it.resolver.values(call.func, module)
    return bool(values) and all(_reads_argument(it, value, index, keyword) for value in values)


def _reads_argument(it: Interpreter, value: Value, index: int | None, keyword: str) -> bool:
    match value:
        case External(name=name):
            return is_reader(name)
        case Function(node=node):
            names = positional_names(node.args)[1 if it.receives(value) else 0 :]
            name = keyword if index is None else names[index] if index < len(names) else ""
            return bool(name) and reads_only(it, value, name)
    return False
