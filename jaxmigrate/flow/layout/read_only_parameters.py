"""Which functions only read what they are given, so that they may be given a copy of it in another layout.

A copy is as good as the original where nobody can tell them apart: the function changes nothing in it, keeps none of
its containers, and hands none of them on. Arrays themselves cannot be changed; the containers around them can. What a
function gives back of its argument, or keeps in a variable of its own, is followed as the argument is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from jaxmigrate.flow.layout import class_index
from jaxmigrate.flow.layout.functions import is_generator
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Given, Reading, Use
from jaxmigrate.flow.layout.objects import REPLACES
from jaxmigrate.flow.layout.reachable_modules import ROUND_NAMES
from jaxmigrate.flow.layout.values import Ref
from jaxmigrate.program.functions import own_statements
from jaxmigrate.program.library import named, starting
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.passing import taker
from jaxmigrate.program.scopes import FunctionNode, Scope
from jaxmigrate.program.values import Application, External, Function, Value

READERS = starting("reads")
READING_BUILTINS = named("reads")
READING_METHODS = frozenset(
    {"all", "any", "argmax", "argmin", "astype", "copy", "item", "max", "mean", "min", "ravel", "reshape"}
    | {"squeeze", "std", "sum", "tolist", "transpose", "var"}
)
SHARING = named("shares")  # their results hold what they are given
FACTS = frozenset({"dtype", "itemsize", "nbytes", "ndim", "shape", "size", "weak_type"})  # of an array


KEPT = Use(Reading.KEEPS)
READ = Use(Reading.AT_ONCE)


def reads_only(it: Interpreter, function: Function, name: str) -> Reading:
    """Whether a function of the project does nothing but read what one of its parameters holds."""
    return _use_of(it, function, name).only


@once
def _readers(_it: Interpreter) -> dict[tuple[FunctionNode, str], Use]:
    """What functions do with what they are given, by the names of their parameters."""
    return {}


def _use_of(it: Interpreter, function: Function, name: str) -> Use:
    """What a function of the project does with what one of its parameters holds."""
    key = (function.node, name)
    if key not in _readers(it):
        _readers(it)[key] = KEPT  # what calls itself is not looked into
        _readers(it)[key] = _parameter(it, function, name)
    return _readers(it)[key]


def _all_of(uses: Iterable[Use]) -> Use:
    found = [*uses]
    return Use(min((use.when for use in found), default=Reading.AT_ONCE), any(use.given_back for use in found))


def reads_all(it: Interpreter, item: object, given: Given) -> bool:
    """Whether something called is a function that only reads the stacked arrays that a call gives it."""
    if not isinstance(item, Function):
        return False
    for place in given.places:
        value = given.named.get(place) if isinstance(place, str) else given.positional[place]
        if not isinstance(value, Ref):
            continue
        if _use_at(it, item, place).only is Reading.KEEPS:
            return False
    return True


def _use_at(it: Interpreter, function: Function, place: int | str) -> Use:
    """What a function does with the parameter of a name, or that at a place among the arguments of its calls."""
    name = taker(function.node.args, place, int(it.receives(function)))
    return _use_of(it, function, name) if name is not None else KEPT


def is_reader(name: str) -> bool:
    """Whether a function outside the project only reads what it is given, and keeps none of it."""
    return name in READING_BUILTINS or name.startswith(READERS)


def _parameter(it: Interpreter, function: Function, name: str) -> Use:
    node, module = function.node, function.module
    if not isinstance(node, ast.FunctionDef) or is_generator(node):
        return KEPT
    if any(isinstance(s, ast.Global | ast.Nonlocal) for s in own_statements(node)):
        return KEPT
    if not ROUND_NAMES.isdisjoint(it.names_in(node)):
        return KEPT
    return _Follower(it, module, module.table.own_scope[node]).variable(name)


class _Follower:
    """Follows what one call of a function is given through the variables of the function."""

    def __init__(self, it: Interpreter, module: Module, scope: Scope) -> None:
        self.it, self.module, self.scope = it, module, scope
        self._seen: set[str] = set()

    def variable(self, name: str) -> Use:
        """What is done with all that a variable of the function ever holds."""
        if name in self._seen:
            return READ
        self._seen.add(name)
        table = self.module.table
        nodes = [n for n in ast.walk(self.scope.node) if isinstance(n, ast.Name) and n.id == name]
        own = [n for n in nodes if n in table.scope_of and table.scope_of[n].lookup(name) is self.scope]
        if any(isinstance(table.parents.get(n), ast.AugAssign) and not isinstance(n.ctx, ast.Load) for n in own):
            return KEPT  # it may add to a list
        return _all_of(self._of_load(n) for n in own if isinstance(n.ctx, ast.Load))

    def _of_load(self, node: ast.Name) -> Use:
        use = self._use(node)
        return Use(min(_when(self.it, node, self.module, self.scope), use.when), use.given_back)

    def _use(self, node: ast.expr) -> Use:
        """What is done with the value of an expression, or with a part of it."""
        it, parents = self.it, self.module.table.parents
        parent = parents.get(node)
        while isinstance(parent, ast.Attribute | ast.Subscript) and parent.value is node:
            runs_code = isinstance(parent, ast.Attribute) and class_index.is_property(it, parent.attr)
            if not isinstance(parent.ctx, ast.Load) or runs_code:
                return KEPT
            node, parent = parent, parents.get(parent)
            if isinstance(node, ast.Attribute) and node.attr in FACTS and not class_index.is_assigned(it, node.attr):
                return READ
        match parent:
            case ast.Call(func=func) if func is node:
                return self._of_method(node, parent)
            case ast.Call(args=args) if node in args:
                return self._given(parent, args.index(node))
            case ast.keyword(arg=str(keyword)):
                call = parents.get(parent)
                return self._given(call, keyword) if isinstance(call, ast.Call) else KEPT
            case ast.Return():
                return Use(Reading.AT_ONCE, given_back=True) if self._is_own(node) else KEPT
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                return self.variable(name) if self._is_own(node) else KEPT
            case ast.BinOp() | ast.Dict() | ast.List() | ast.Tuple():
                return self._use(parent)  # which may hold it
            case _:
                return READ if _is_look(node, parent) else KEPT

    def _is_own(self, node: ast.expr) -> bool:
        """Whether an expression is the function's own, and no nested one's."""
        return self.module.table.scope_of.get(node) is self.scope

    def _of_method(self, node: ast.expr, call: ast.Call) -> Use:
        """What a call of a method does with what it is a method of."""
        if not isinstance(node, ast.Attribute) or class_index.is_method(self.it, node.attr):
            return KEPT
        if node.attr in REPLACES:
            return self._use(call)
        return READ if node.attr in READING_METHODS else KEPT

    def _given(self, call: ast.Call, place: int | str) -> Use:
        """What all functions that a call may be of do with one of its arguments, and then who gets it back."""
        before = call.args if isinstance(place, str) else call.args[:place]
        if any(isinstance(a, ast.Starred) for a in before) or place == "out":
            return KEPT
        if isinstance(call.func, ast.Attribute) and call.func.attr in REPLACES:
            return KEPT if class_index.is_method(self.it, call.func.attr) else self._use(call)
        values = self.it.resolver.values(call.func, self.module)
        found = _all_of(_argument(self.it, value, place) for value in values) if values else KEPT
        if not found.given_back or found.when is Reading.KEEPS:
            return found
        result = self._use(call)
        return Use(min(found.when, result.when), result.given_back)


def _is_look(node: ast.expr, parent: ast.AST | None) -> bool:
    """Whether what an expression stands in only looks at it."""
    match parent:
        case ast.Compare(ops=ops, comparators=others) if any(isinstance(op, ast.Is | ast.IsNot) for op in ops):
            return all(isinstance(one, ast.Constant) for one in others)
        case ast.Compare() | ast.UnaryOp() | ast.FormattedValue() | ast.Expr():
            return True
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) | ast.Assert(test=test):
            return test is node
    return False


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


def _argument(it: Interpreter, value: Value, place: int | str) -> Use:
    match value:
        case External(name=name):
            return Use(Reading.AT_ONCE, given_back=True) if name in SHARING else READ if is_reader(name) else KEPT
        case Function():
            return _use_at(it, value, place)
        case Application(callee=External(name="jax.pmap" | "jax.jit")):
            return READ if isinstance(place, int) and not _may_donate(it, value, place) else KEPT
    return KEPT


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
