"""Functions given to `jax.pure_callback`: which of them can be read to be functions of their arguments alone.

Each device calls the host for itself while the program runs, so that a callback which draws a random number, or counts
its calls, gives every device another result. JAX asks that a callback be pure and does not look; this does.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from jaxmigrate.flow.variance import library
from jaxmigrate.flow.variance.logging_only import is_none
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.library import named, starting
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import walk
from jaxmigrate.program.values import Constant, External, Function, ModuleValue, Parameter, Value

PURE_CALLBACK = "jax.pure_callback"
IO_CALLBACK = "jax.experimental.io_callback"
TAPS_HOME = "jax.experimental.host_callback"
TAPS = frozenset(f"{TAPS_HOME}.{name}" for name in ("barrier_wait", "id_print", "id_tap"))
NUMERIC = starting("numeric")
OTHERS = frozenset({"scipy.optimize.linear_sum_assignment", "scipy.sparse.csgraph.min_weight_full_bipartite_matching"})
RANDOM = starting("random")
BUILTINS = named("numeric")
METHODS = frozenset(  # of arrays, and of lists that a function has made itself
    {
        *("all", "any", "append", "argmax", "argmin", "argsort", "astype", "clip", "copy", "cumprod", "cumsum", "dot"),
        *("extend", "flatten", "item", "max", "mean", "min", "nonzero", "prod", "ravel", "reshape", "round", "squeeze"),
        *("std", "sum", "swapaxes", "tolist", "transpose", "var"),
    }
)
PLAIN_STATEMENTS = (
    *(ast.Assert, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Break, ast.Continue, ast.Expr, ast.For),
    *(ast.FunctionDef, ast.If, ast.Pass, ast.Raise, ast.Return, ast.While),
)
UNUSUAL = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)


def is_pure_callback(call: ast.Call, module: Module, resolver: Resolver) -> bool:
    """Whether a call of `jax.pure_callback` is given a function of its arguments alone, as far as can be read."""
    given = [k.value for k in call.keywords if k.arg == "callback"] or call.args[:1]
    return len(given) == 1 and Reader(resolver).is_pure(given[0], module)


def gives_nothing(node: ast.expr, values: Collection[Value], module: Module) -> bool:
    """Whether what calls the host is used there in a way that nothing comes back: by a tap, or for a result of None."""
    above = module.table.parents.get(node)
    names = {value.name for value in values if isinstance(value, External)}
    if len(names) != len(values) or not names:
        return False
    if names == {TAPS_HOME}:
        return isinstance(above, ast.Attribute) and f"{TAPS_HOME}.{above.attr}" in TAPS
    if names <= TAPS:
        return True
    if names != {IO_CALLBACK} or not isinstance(above, ast.Call) or above.func is not node:
        return False
    given = [k.value for k in above.keywords if k.arg == "result_shape_dtypes"] or above.args[1:2]
    return bool(given) and is_none(given[0])


class Reader:
    """Reads a callback and all that it calls, on the host."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.inside: set[ast.AST] = set()  # all nodes of the functions that are being read, or have been

    def is_pure(self, callee: ast.expr, module: Module) -> bool:
        """Whether all that an expression can stand for are functions of their arguments alone."""
        values = self.resolver.values(callee, module)
        return bool(values) and all(self.is_function(value) for value in values)

    def is_known(self, name: str) -> bool:
        """Whether a function of a library is one of its arguments alone."""
        if name.startswith(RANDOM):
            return False
        return name in BUILTINS or name in OTHERS or (name.startswith(NUMERIC) and library.is_pure(name))

    def is_function(self, value: Value) -> bool:
        """Whether something is a function of its arguments alone."""
        match value:
            case External(name=name):
                return not library.is_changed(self.resolver, name) and self.is_known(name)
            case Parameter():
                passed = callers_of(self.resolver).passed(value)
                return bool(passed) and all(isinstance(p, External | Function) and self.is_function(p) for p in passed)
            case Function(module=module, node=ast.FunctionDef() | ast.Lambda() as node) if value.receiver is None:
                return node in self.inside or self._is_read(node, module)
        return False

    def _is_read(self, function: ast.FunctionDef | ast.Lambda, module: Module) -> bool:
        defaults = (*function.args.defaults, *function.args.kw_defaults)
        if not all(is_none(default) or isinstance(default, ast.Constant) for default in defaults):
            return False  # one that is changed stays changed
        body = function.body if isinstance(function, ast.FunctionDef) else [function.body]
        inside = [node for one in body for node in walk(one)]
        self.inside |= {function, *inside}
        return all(self._is_plain(node, module) for node in inside)

    def _is_plain(self, node: ast.AST, module: Module) -> bool:
        match node:
            case ast.FunctionDef(decorator_list=[_, *_]):
                return False
            case ast.FunctionDef() | ast.Lambda():
                return self._is_read(node, module)
            case ast.stmt():
                return isinstance(node, PLAIN_STATEMENTS)
            case ast.Call(keywords=keywords) if any(k.arg in (None, "out") for k in keywords):
                return False
            case ast.Call(func=ast.Attribute(value=owner, attr=method)) if not self._is_outside(owner, module):
                return method in METHODS
            case ast.Call(func=callee):
                return self.is_pure(callee, module)
            case ast.Attribute(ctx=ast.Load()) if not self._is_outside(node, module) or self._is_owner(node, module):
                return True
            case ast.Attribute():
                return isinstance(node.ctx, ast.Load) and self.is_pure(node, module)
            case ast.Subscript(value=owner, ctx=ast.Store() | ast.Del()):
                return isinstance(owner, ast.Name) and self._is_own(owner, module)
            case ast.Name(ctx=ast.Load()):
                return self._is_own(node, module) or self.is_still(node, module)
        return not isinstance(node, UNUSUAL)

    def _is_outside(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression names a module, or something in a library."""
        values = self.resolver.values(node, module)
        return bool(values) and any(isinstance(value, External | ModuleValue) for value in values)

    def _is_owner(self, node: ast.expr, module: Module) -> bool:
        """Whether only an attribute of what an expression names is taken, which is asked about itself."""
        return isinstance(module.table.parents.get(node), ast.Attribute) and self._is_outside(node, module)

    def _is_own(self, name: ast.Name, module: Module) -> bool:
        """Whether a name is a variable of one of the functions that are read."""
        scope = module.table.scope_of.get(name)
        holder = scope.lookup(name.id) if scope is not None else None
        return holder is not None and holder.node in self.inside

    def is_still(self, name: ast.Name, module: Module) -> bool:
        """Whether what a name captures is a number, a module or a function: nothing that the program changes."""
        if self._is_owner(name, module):
            return True
        values = self.resolver.values(name, module)
        return bool(values) and all(_is_number(value) or self.is_function(value) for value in values)


def _is_number(value: Value) -> bool:
    return isinstance(value, Constant) and not isinstance(value.value, tuple)  # which may stand for a list
