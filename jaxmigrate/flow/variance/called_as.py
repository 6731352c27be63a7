"""Under which names a function may be called: its own, those that it is imported, assigned, passed and kept under.

Names only grow: a call of something else by one of them is for the caller to tell.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jaxmigrate.program.library import last_names
from jaxmigrate.program.modules import Module
from jaxmigrate.program.passing import taker
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Class, External, Function, Instance

WRAPPERS = last_names("partial", "jit", "vmap", "gradient", "same-call", "cache")
CONTAINERS = last_names("iterates") | {"OrderedDict", "defaultdict", "dict", "enumerate", "zip"}
VALUES = (ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.Await, ast.Starred, ast.Subscript)
GIVING = frozenset({"get", "items", "pop", "popitem", "setdefault", "values"})  # what a container holds
DISPLAYS = (ast.Dict, ast.List, ast.Tuple, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class CalledAs(NamedTuple):
    """The names of a function, and calls without a name that may be of it, or of what is out of sight with it."""

    names: frozenset[str]
    given: tuple[tuple[ast.Call, Module], ...]


class Ways:
    """Where functions go in modules that may run together: what a name leads to is found once for all functions."""

    def __init__(self, modules: Iterable[Module], resolver: Resolver) -> None:
        self.resolver = resolver
        self._unread = list(modules)
        self._named: dict[str, list[tuple[ast.expr, Module]]] = {}
        self._aliases: dict[str, list[str]] = {}
        self._steps: dict[tuple[str, bool, bool], _Step] = {}

    def called_as(self, function: FunctionNode, home: Module) -> CalledAs:
        """Follows the values of a function by names."""
        names: set[str] = set()
        kept: set[str] = set()  # the names that something else may have beside it
        makers: set[str] = set()  # of functions that return it
        given: dict[tuple[ast.Call, Module], None] = {}
        first = _Step(self.resolver)
        if isinstance(function, ast.Lambda):
            first.value(function, home)
        else:
            first.add(function.name)
        pending: list[str] = []
        step = self._step(function.name, maker=False, own=True) if isinstance(function, ast.FunctionDef) else first
        names |= {name for name, maker in first.added if not maker}
        while True:
            given |= step.given
            for name, maker in step.added:
                known = makers if maker else kept
                if name not in known:
                    known.add(name)
                    pending.append(name)
            if not pending:
                return CalledAs(frozenset(names | kept), tuple(given))
            name = pending.pop()
            step = self._step(name, name in makers)

    def _step(self, name: str, maker: bool, own: bool = False) -> _Step:
        """Where a name leads; as a `maker`, of functions that return what is followed.

        `own`: of a function that is defined under it, which is not what a function's variable of that name holds.
        """
        found = self._steps.get((name, maker, own))
        if found is None:
            self._read(name)
            found = self._steps[name, maker, own] = _Step(self.resolver, name if maker else "")
            for alias in self._aliases.get(name, ()):
                found.add(alias, maker=maker)
            for node, module in self._named.get(name, ()):
                if not own or not _is_variable(node, module):
                    found.value(node, module)
        return found

    def _read(self, name: str) -> None:
        """Takes in the modules that mention a name, and those whose scopes are known in any case."""
        fresh = [m for m in self._unread if "table" in vars(m) or name in m.text]
        self._unread = [m for m in self._unread if m not in set(fresh)] if fresh else self._unread
        for module in fresh:
            for one, nodes in module.table.named.items():
                self._named.setdefault(one, []).extend((node, module) for node in nodes)
            for binding in module.table.imports:
                if isinstance(binding.node, ast.alias) and binding.node.asname:
                    self._aliases.setdefault(binding.node.name, []).append(binding.node.asname)


class _Step:
    """What values under a name lead to: other names, and calls without a name.

    `maker` is the name where it is of functions that return them.
    """

    def __init__(self, resolver: Resolver, maker: str = "") -> None:
        self.resolver = resolver
        self.maker = maker
        self.added: dict[tuple[str, bool], None] = {}
        self.given: dict[tuple[ast.Call, Module], None] = {}

    def add(self, name: str, *, maker: bool = False) -> None:
        if name:
            self.added[name, maker] = None

    def value(self, node: ast.expr, module: Module, *, method: bool = False) -> None:
        """Notes where the value of an expression goes; `method`: where that goes which a container's method gives."""
        above = module.table.parents.get(node)
        match above:
            case ast.Call(func=func) if func is node:
                if method or (self.maker and last_name(func) == self.maker):
                    self.value(above, module)
                elif not isinstance(func, ast.Name):
                    self.given[above, module] = None
            case ast.Call():
                self._argument(above, node, None, module)
            case ast.keyword(arg=name):
                call = module.table.parents.get(above)
                if isinstance(call, ast.Call):
                    self._argument(call, node, name, module)
            case ast.Return() | ast.Yield() | ast.Lambda():
                self._returned(above, module)
            case ast.Attribute(attr=name) if name in GIVING:
                self.value(above, module, method=True)
            case ast.expr() if isinstance(above, (*DISPLAYS, *VALUES)) and not _is_key(node, above):
                self.value(above, module)
        self._targets(_bound_to(node, above))

    def _targets(self, targets: Iterable[ast.expr]) -> None:
        for target in targets:
            for node in ast.walk(target):
                if isinstance(node, ast.Name | ast.Attribute):
                    self.add(last_name(node))

    def _returned(self, node: ast.AST, module: Module) -> None:
        scope = module.table.scope_of.get(node)
        holder = node if isinstance(node, ast.Lambda) else scope.node if scope is not None else None
        if isinstance(holder, ast.Lambda):
            self.value(holder, module)
        elif isinstance(holder, ast.FunctionDef | ast.AsyncFunctionDef):
            self.add(holder.name, maker=True)

    def _argument(self, call: ast.Call, node: ast.expr, name: str | None, module: Module) -> None:
        if last_name(call.func) in WRAPPERS | CONTAINERS:
            self.value(call, module)
            return
        place: int | str | None = name
        if name is None:
            place = call.args.index(node) if node in call.args else None
        values = self.resolver.values(call.func, module)
        for parameter in self._takers(values, place):
            self.add(parameter)
        if not all(isinstance(value, Function | Class | Instance) for value in values):
            self.given[call, module] = None
            if not all(isinstance(value, External) for value in values):
                self.add(name or "")

    def _takers(self, values: Iterable[object], place: int | str | None) -> Iterator[str]:
        for value in values:
            functions = [value] if isinstance(value, Function) else []
            if isinstance(value, Class):
                made = self.resolver.attribute(Instance(value), "__init__")
                functions = [one for one in made if isinstance(one, Function)]
                fields = self.resolver.declared_fields(value)
                yield from fields[place : place + 1] if isinstance(place, int) else [place] if place in fields else ()
            for one in functions:
                spec = one.node.args
                taken = taker(spec, place, int(one.receiver is not None)) if place is not None else None
                if taken is not None:
                    yield taken
                else:
                    yield from (rest.arg for rest in (spec.vararg, spec.kwarg) if rest is not None)


def _is_variable(node: ast.expr, module: Module) -> bool:
    """Whether a name is certainly a variable of a function, which is no function that is defined or imported."""
    scope = module.table.scope_of.get(node)
    holder = scope.lookup(node.id) if scope is not None and isinstance(node, ast.Name) else None
    if holder is None or holder.kind not in ("function", "comprehension") or not isinstance(node, ast.Name):
        return False
    return all(binding.kind in ("param", "assign", "other") for binding in holder.bindings[node.id])


def _is_key(node: ast.expr, above: ast.expr) -> bool:
    """Whether an expression is the key of a subscript."""
    return isinstance(above, ast.Subscript) and above.value is not node


def _bound_to(node: ast.expr, above: ast.AST | None) -> list[ast.expr]:
    """What is bound to a value, or to what it holds, where it stands."""
    match above:
        case ast.Assign(targets=targets):
            return targets
        case ast.AnnAssign(target=target) | ast.NamedExpr(target=target):
            return [target]
        case ast.For(target=target, iter=source) | ast.AsyncFor(target=target, iter=source) if source is node:
            return [target]
        case ast.comprehension(target=target, iter=source) if source is node:
            return [target]
    return []
