"""Calls of a function by way of a name or a display that holds it: `FUNCTIONS = {"a": f}`, then `FUNCTIONS[key](x)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import External

DEEPEST = 6  # from the function to its call
Calls: TypeAlias = list[tuple[ast.Call, Module]]
Follow: TypeAlias = Callable[[ast.expr, Module, int], "Calls | None"]
COPIES = frozenset({"list", "sorted", "tuple"})  # Python's


class Carried:
    """Follows what an expression gives to where it is called; None wherever it goes where that does not show."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver

    def calls(self, node: ast.expr, module: Module, depth: int = DEEPEST) -> Calls | None:
        """The calls of what an expression stands for."""
        parent = module.table.parents.get(node)
        if depth == 0:
            return None
        match parent:
            case ast.Call(func=func) if func is node:
                return [(parent, module)]
            case ast.Expr() | ast.Attribute(attr="__name__" | "__doc__"):
                return []
            case ast.Assign(targets=[ast.Name() as target], value=value) if value is node:
                return self._named(target, module, depth, self.calls)
            case ast.IfExp(test=test) if test is not node:
                return self.calls(parent, module, depth - 1)
            case ast.Dict(keys=keys) if node in keys:
                return None
            case ast.Dict() | ast.List() | ast.Tuple():
                return self._held(parent, module, depth - 1)
        return None

    def _held(self, node: ast.expr, module: Module, depth: int) -> Calls | None:
        """The calls of the elements of a container."""
        parent = module.table.parents.get(node)
        if depth == 0:
            return None
        match parent:
            case ast.Assign(targets=[ast.Name() as target], value=value) if value is node:
                return self._named(target, module, depth, self._held)
            case ast.AnnAssign(target=ast.Name() as target, value=value) if value is node:
                return self._named(target, module, depth, self._held)
            case ast.Subscript(value=value, slice=ast.Slice(), ctx=ast.Load()) if value is node:
                return self._held(parent, module, depth - 1)
            case ast.Subscript(value=value, ctx=ast.Load()) if value is node:
                return self.calls(parent, module, depth - 1)
            case ast.Subscript(value=value, ctx=ast.Store()) if value is node:
                return []  # another element
            case ast.Compare(comparators=comparators) if node in comparators:
                return []
            case ast.Attribute(attr=attr):
                call = module.table.parents.get(parent)
                return self._method(call, attr, module, depth) if isinstance(call, ast.Call) else None
            case ast.For() | ast.comprehension() if parent.iter is node:
                return self._iterated(parent.target, module, depth)
            case ast.Call(args=[one], keywords=[]) if one is node:
                return self._passed(parent, module, depth)
        return None

    def _method(self, call: ast.Call, attr: str, module: Module, depth: int) -> Calls | None:
        """The calls of what a method of a dictionary gives."""
        if attr == "get" and len(call.args) == 1:
            return self.calls(call, module, depth - 1)
        if attr == "keys" and not call.args:
            return []
        if attr in ("items", "values") and not call.args:
            over = module.table.parents.get(call)
            if isinstance(over, ast.For | ast.comprehension) and over.iter is call:
                return self._iterated(over.target, module, depth)
        return None

    def _iterated(self, target: ast.expr, module: Module, depth: int) -> Calls | None:
        """The calls of the names that a loop gives the elements: the keys of a dictionary are not called."""
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        found: Calls = []
        for name in names:
            calls = self._named(name, module, depth, self.calls) if isinstance(name, ast.Name) else None
            if calls is None:
                calls = [] if isinstance(name, ast.Name) and name is not names[-1] else None
            if calls is None:
                return None
            found += calls
        return found

    def _passed(self, call: ast.Call, module: Module, depth: int) -> Calls | None:
        """The calls of the elements of a container that a function of Python's is given."""
        value = self.resolver.value(call.func, module)
        name = value.name.removeprefix("builtins.") if isinstance(value, External) else ""
        if name == "len":
            return []
        return self._held(call, module, depth - 1) if name in COPIES else None

    def _named(self, target: ast.Name, module: Module, depth: int, follow: Follow) -> Calls | None:
        """The calls of what a name holds that an assignment, or a loop, gives it."""
        scope = module.table.scope_of[target].lookup(target.id)
        if scope is None or len(scope.bindings.get(target.id, ())) != 1:
            return None
        if scope.kind not in ("function", "module", "comprehension"):
            return None
        found: Calls = []
        for use, where in self._uses(target, module):
            calls = follow(use, where, depth - 1)
            if calls is None:
                return None
            found += calls
        return found if not self._is_said(target, module) else None

    def _uses(self, target: ast.Name, module: Module) -> Iterator[tuple[ast.expr, Module]]:
        """Where the variable that a name is may be read; in other modules, wherever something of that name is."""
        scope = module.table.scope_of[target].lookup(target.id)
        assert scope is not None
        for one in self.resolver.project.program if scope.kind == "module" else (module,):
            for node in one.table.named.get(target.id, ()) if target.id in one.text else ():
                if isinstance(node, ast.Name):
                    holder = one.table.scope_of[node].lookup(node.id)
                    if holder is scope if one is module else _may_be_imported(holder, node.id):
                        yield node, one
                elif scope.kind == "module" and not self._is_of_library(node, one):
                    yield node, one

    def _is_of_library(self, node: ast.expr, module: Module) -> bool:
        assert isinstance(node, ast.Attribute)
        return isinstance(self.resolver.value(node.value, module), External)

    def _is_said(self, target: ast.Name, module: Module) -> bool:
        """Whether a module's variable may be asked for by its name in a string."""
        if module.table.scope_of[target].kind != "module":
            return False
        said = re.compile(rf"""["']{re.escape(target.id)}["']""")
        return any(said.search(one.text) and "getattr(" in one.text for one in self.resolver.project.program)


def _may_be_imported(holder: object, name: str) -> bool:
    """Whether a name that another module reads may be the variable: it is imported there, or bound nowhere."""
    bindings = getattr(holder, "bindings", {}).get(name, ())
    return not bindings or any(binding.kind in ("import", "from", "other") for binding in bindings)
