"""Which functions only read what they are given, so that they may be given a copy of it in another layout.

A copy is as good as the original where nobody can tell them apart: the function changes nothing in it, keeps none of
its containers, and hands none of them on. Arrays themselves cannot be changed; the containers around them can.
"""

from __future__ import annotations

import ast
from enum import IntEnum
from typing import TYPE_CHECKING

from jaxmigrate.flow.layout import survey
from jaxmigrate.flow.layout.idioms import is_generator
from jaxmigrate.flow.layout.onlookers import ROUND_NAMES
from jaxmigrate.flow.layout.values import Ref
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import own_statements
from jaxmigrate.program.scopes import Scope, positional_names
from jaxmigrate.program.values import Application, External, Function, Value

if TYPE_CHECKING:
    from jaxmigrate.flow.layout.interpreter import Interpreter
    from jaxmigrate.flow.layout.state import Given

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


class Reading(IntEnum):
    """When a function reads what it is given, if that is all that it does with it."""

    KEEPS = 0  # it does something else
    LATER = 1  # a function that it makes may read it at any time
    AT_ONCE = 2  # before it returns


def reads_only(it: Interpreter, function: Function, name: str) -> Reading:
    """Whether a function of the project does nothing but read what one of its parameters holds."""
    key = (function.node, name)
    if key not in it.readers:
        it.readers[key] = Reading.KEEPS  # what calls itself is not looked into
        it.readers[key] = _reads_only(it, function, name)
    return it.readers[key]


def reads_all(it: Interpreter, item: object, given: Given) -> bool:
    """Whether something called is a function that only reads the stacked arrays that a call gives it."""
    if not isinstance(item, Function):
        return False
    for place in given.places:
        value = given.named.get(place) if isinstance(place, str) else given.positional[place]
        if not isinstance(value, Ref):
            continue
        if _reads_at(it, item, place) is Reading.KEEPS:
            return False
    return True


def _reads_at(it: Interpreter, function: Function, place: int | str) -> Reading:
    """Whether a function only reads the parameter of a name, or that at a place among the arguments of its calls."""
    names = positional_names(function.node.args)[1 if it.receives(function) else 0 :]
    name = place if isinstance(place, str) else names[place] if place < len(names) else ""
    return reads_only(it, function, name) if name else Reading.KEEPS


def is_reader(name: str) -> bool:
    """Whether a function outside the project only reads what it is given, and keeps none of it."""
    return name in READING_BUILTINS or name.startswith(READERS)


def _reads_only(it: Interpreter, function: Function, name: str) -> Reading:
    node, module = function.node, function.module
    if not isinstance(node, ast.FunctionDef) or is_generator(node):
        return Reading.KEEPS
    if any(isinstance(s, ast.Global | ast.Nonlocal) for s in own_statements(node)):
        return Reading.KEEPS
    if not ROUND_NAMES.isdisjoint(it.names_in(node)):
        return Reading.KEEPS
    scope = module.table.own_scope[node]
    uses = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name and n in module.table.scope_of]
    own = [n for n in uses if module.table.scope_of[n].lookup(name) is scope]
    bound_once = len(scope.bindings.get(name, ())) == 1
    if not bound_once or not all(isinstance(n.ctx, ast.Load) for n in own):
        return Reading.KEEPS
    found = (min(_when(it, n, module, scope), _is_read(it, n, module)) for n in own)
    return min(found, default=Reading.AT_ONCE)


def _is_read(it: Interpreter, node: ast.expr, module: Module) -> Reading:
    """Whether a use of a parameter, or of a part of it, is nothing but a look at it."""
    parents = module.table.parents
    parent = parents.get(node)
    while isinstance(parent, ast.Attribute | ast.Subscript) and parent.value is node:
        runs_code = isinstance(parent, ast.Attribute) and survey.is_property(it, parent.attr)
        if not isinstance(parent.ctx, ast.Load) or runs_code:
            return Reading.KEEPS
        node, parent = parent, parents.get(parent)
        if isinstance(node, ast.Attribute) and node.attr in FACTS and not survey.is_assigned(it, node.attr):
            return Reading.AT_ONCE
    match parent:
        case ast.Call(func=func) if func is node:
            looks = (
                isinstance(node, ast.Attribute) and node.attr in READING_METHODS and not survey.is_method(it, node.attr)
            )
        case ast.Call(args=args) if node in args:
            return _given_to_reader(it, parent, args.index(node), module)
        case ast.keyword(arg=str(keyword)):
            call = parents.get(parent)
            return _given_to_reader(it, call, keyword, module) if isinstance(call, ast.Call) else Reading.KEEPS
        case ast.Compare(ops=ops, comparators=others) if any(isinstance(op, ast.Is | ast.IsNot) for op in ops):
            looks = all(isinstance(one, ast.Constant) for one in others)
        case ast.Compare() | ast.UnaryOp() | ast.FormattedValue() | ast.Expr():
            looks = True
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) | ast.Assert(test=test):
            looks = test is node
        case _:
            looks = False
    return Reading.AT_ONCE if looks else Reading.KEEPS


def _when(it: Interpreter, node: ast.expr, module: Module, scope: Scope) -> Reading:
    """When a use runs: while the function does, or when a function that it makes is called."""
    holder = module.table.scope_of.get(node)
    when = Reading.AT_ONCE
    while holder is not None and holder is not scope:
        if isinstance(holder.node, ast.FunctionDef):
            when = Reading.LATER
        elif holder.kind != "comprehension":
            call = module.table.parents.get(holder.node)
            if not (isinstance(holder.node, ast.Lambda) and isinstance(call, ast.Call) and holder.node in call.args):
                return Reading.KEEPS
            if not all(isinstance(v, External) and is_reader(v.name) for v in it.resolver.values(call.func, module)):
                return Reading.KEEPS
        elif isinstance(holder.node, ast.GeneratorExp):
            return Reading.KEEPS
        holder = holder.parent
    return when if holder is scope else Reading.KEEPS


def _given_to_reader(it: Interpreter, call: ast.Call, place: int | str, module: Module) -> Reading:
    """Whether all functions that a call may be of only read one of its arguments."""
    before = call.args if isinstance(place, str) else call.args[:place]
    if any(isinstance(a, ast.Starred) for a in before) or place == "out":
        return Reading.KEEPS
    values = it.resolver.values(call.func, module)
    return min((_reads_argument(it, value, place) for value in values), default=Reading.KEEPS)


def _reads_argument(it: Interpreter, value: Value, place: int | str) -> Reading:
    match value:
        case External(name=name):
            return Reading.AT_ONCE if is_reader(name) else Reading.KEEPS
        case Function():
            return _reads_at(it, value, place)
        case Application(callee=External(name="jax.pmap" | "jax.jit")):
            by_position = isinstance(place, int) and not _may_donate(it, value, place)
            return Reading.AT_ONCE if by_position else Reading.KEEPS
    return Reading.KEEPS


def _may_donate(it: Interpreter, made: Application, index: int) -> bool:
    """Whether a compiled function may give up the buffers of one of its arguments."""
    for argument in made.arguments:
        if argument.keyword in ("*", "**", "donate_argnames"):
            return True
        if argument.keyword == "donate_argnums":
            given = it.resolver.literal(argument)
            places = given if isinstance(given, list | tuple) else (given,)
            return not all(isinstance(place, int) and place != index for place in places)
    return False
