"""Where one device's part of what a call gave is taken by another function: one that is given it, or that gets it.

`log(step, metrics)` whose body reads `metrics["loss"][0]`, a project's own `first(metrics)`, and
`metrics = self.step()` of a method that returns what a map gave.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from jaxmigrate.flow.first_devices import FETCHING, Given, Part, Taken, parts_of, taken_from
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.trees import TREE_MAP_NAMES
from jaxmigrate.program.values import Function

DEEPEST = 2  # functions behind one another


class TakenElsewhere:
    """Answers about the calls of a project's modules; keeps what it has found of each function."""

    def __init__(self, modules: Sequence[Module], resolver: Resolver) -> None:
        self.modules = modules
        self.resolver = resolver
        self._handed: dict[ast.AST, dict[ast.Call | Given, list[tuple[ast.Call, int | str, Part]]]] = {}
        self._calls: dict[Module, dict[ast.AST, list[ast.Call]]] = {}
        self._within: dict[ast.AST, list[Taken]] = {}

    def of(self, call: ast.Call, module: Module) -> Iterator[Taken]:
        """What is taken of what a call gave, in other functions than its own."""
        yield from self._in_callees(call, module, DEEPEST)
        yield from self._of_results(call, module)

    def _in_callees(self, source: ast.Call | Given, module: Module, depth: int) -> Iterator[Taken]:
        around = source.function if isinstance(source, Given) else module.table.function_of(source) or module.tree
        for call, place, part in self._handed_on(around, module).get(source, ()) if depth else ():
            function, name = self._parameter(call, place, module)
            if function is None or name is None:
                continue
            home = function.module
            inner = [one for one in self._taken_in(function.node, home) if one.call == Given(function.node, name)]
            inner += self._in_callees(Given(function.node, name), home, depth - 1)
            for one in inner:
                yield Taken(one.node, call, (*part.path, *one.path), (*part.names, *one.names), one.home or home)

    def _handed_on(
        self, around: ast.AST, module: Module
    ) -> dict[ast.Call | Given, list[tuple[ast.Call, int | str, Part]]]:
        """What the calls of a function are given, by where it comes from."""
        if around not in self._handed:
            found = self._handed[around] = {}
            for call in self._calls_in(around, module):
                each: list[tuple[int | str, ast.expr]] = [*enumerate(call.args)]
                each += [(k.arg, k.value) for k in call.keywords if k.arg is not None]
                for place, given in each:
                    if isinstance(given, ast.Name | ast.Subscript | ast.Attribute):
                        for part in parts_of(given, module):
                            found.setdefault(part.call, []).append((call, place, part))
        return self._handed[around]

    def _calls_in(self, around: ast.AST, module: Module) -> list[ast.Call]:
        """The calls of a function's own that may be of the program's functions."""
        if module not in self._calls:
            found = self._calls[module] = {}
            for call in module.table.calls:
                if last_name(call.func) not in FETCHING:
                    found.setdefault(module.table.function_of(call) or module.tree, []).append(call)
        return self._calls[module].get(around, [])

    def _parameter(self, call: ast.Call, place: int | str, module: Module) -> tuple[Function | None, str | None]:
        """The function of the program that a call gives something to, and the name that it has there."""
        callee, first = call.func, 0
        if last_name(callee) in TREE_MAP_NAMES and call.args and place == 1:
            callee, first = call.args[0], 1
        if not isinstance(callee, ast.Name | ast.Attribute):
            return None, None
        values = self.resolver.values(callee, module)
        function = values[0] if len(values) == 1 else None
        if not isinstance(function, Function):
            return None, None
        if isinstance(place, str):
            return function, place
        names = function.passed_names()
        stars = any(isinstance(one, ast.Starred) for one in call.args[:place])
        return function, names[place - first] if 0 <= place - first < len(names) and not stars else None

    def _taken_in(self, node: ast.AST, module: Module) -> list[Taken]:
        """What a function takes, or a module."""
        if node not in self._within:
            self._within[node] = [*taken_from(module, node)]
        return self._within[node]

    def _of_results(self, call: ast.Call, module: Module) -> Iterator[Taken]:
        """What is taken of the results of the function that a call stands in, where it returns what that gave."""
        function = module.table.function_of(call)
        returns = [one for one in returned_by(function) if one is not None] if function is not None else []
        if not isinstance(function, ast.FunctionDef) or len(returns) != 1:
            return
        elements = returns[0].elts if isinstance(returns[0], ast.Tuple) else []
        ways: list[tuple[tuple[int | str, ...], ast.expr]] = [((n,), one) for n, one in enumerate(elements)]
        ways = ways or [((), returns[0])]
        given = [(front, part) for front, one in ways for part in parts_of(one, module) if part.call is call]
        for node, home in self._calls_of(function) if given else ():
            for taken in self._taken_in(home.table.function_of(node) or home.tree, home):
                for front, part in given if taken.call is node else ():
                    if taken.path[: len(front)] == front:
                        path = (*part.path, *taken.path[len(front) :])
                        yield Taken(taken.node, call, path, (*part.names, *taken.names), home)

    def _calls_of(self, function: ast.FunctionDef) -> Iterator[tuple[ast.Call, Module]]:
        for module in self.modules:
            for node in module.table.named.get(function.name, ()) if function.name in module.text else ():
                call = module.table.parents.get(node)
                if isinstance(call, ast.Call) and call.func is node:
                    values = self.resolver.values(node, module)
                    if any(isinstance(one, Function) and one.node is function for one in values):
                        yield call, module
