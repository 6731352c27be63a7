"""Which numbers count the devices that pmap uses, and which lists hold them."""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout import some_devices
from jaxmigrate.flow.layout.given_devices import GivenDevices
from jaxmigrate.flow.layout.kinds import COUNTS
from jaxmigrate.flow.layout.listed_devices import ListedDevices
from jaxmigrate.flow.layout.named_counts import LEAST, NamedCounts
from jaxmigrate.flow.layout.some_devices import SomeDevices
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, Constant, External, Parameter, Value


class DeviceCounts:
    """Recognises the number of devices in a project.

    All devices count as pmap's own: where there are several processes, pmap takes no array with a slice for each.
    Where all maps of a program are given `some` devices, these count, and none that are all.

    `any_count` takes every number for theirs; `by_name` one that is called so, and `named` is the last such.
    """

    def __init__(
        self,
        resolver: Resolver,
        *,
        any_count: bool = False,
        by_name: bool = False,
        some: SomeDevices | ListedDevices | None = None,
    ) -> None:
        self.some = some
        self.any_count = any_count
        self.by_name = by_name
        self.named: ast.expr | None = None
        self.resolver = resolver
        self.counts = COUNTS
        self.given = GivenDevices(resolver, self.is_count)

    def external(self, node: ast.expr, module: Module) -> str:
        """The dotted name outside the project that an expression stands for, or an empty string."""
        value = self.resolver.value(node, module)
        return value.name if isinstance(value, External) else ""

    def called(self, node: ast.expr, module: Module) -> str:
        """The same of what a call calls, or of something that is called later: a decorator, a context manager."""
        return self.external(node.func if isinstance(node, ast.Call) else node, module)

    def is_count(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression is the number of devices that pmap uses by default, or may be taken for it."""
        if self.any_count or self._is_certain_count(node, module):
            return True
        if self.by_name and NamedCounts(self.resolver, self._is_certain_count).is_one(node, module):
            self.named = node
            return True
        return False

    def _is_certain_count(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression is certainly that number.

        None among what it may be is no size: it gives way to one in `n if n is not None else jax.device_count()`, or
        raises, as the least of None and a number does.
        """
        if isinstance(self.some, ListedDevices):
            return self.some.counts(node, module)
        callers = callers_of(self.resolver)
        values = self.resolver.values(node, module)
        given = [v for one in values for v in (callers.passed(one) if isinstance(one, Parameter) else (one,))]
        sizes = [one for one in given if one != Constant(None) and not self._is_least_with_none(one)]
        is_name = isinstance(node, ast.Name | ast.Attribute)  # a number that is written out may be any size
        return bool(sizes) and all((is_name and self._is_their_number(one)) or self._counts(one) for one in sizes)

    def _is_least_with_none(self, value: Value) -> bool:
        """Whether a value is the least of numbers one of which is None wherever that is given."""
        if not isinstance(value, Application) or value.callee != LEAST or len(value.arguments) < 2:
            return False
        given = [(one.expression, one.module) for one in value.arguments if one.keyword is None]
        return any(
            isinstance(one, ast.Name) and self.resolver.values(one, where) and self.given.are_none(one, where)
            for one, where in given
        )

    def _is_their_number(self, value: Value) -> bool:
        """Whether a value is the number of the devices that all maps are given, as far as their list shows it."""
        size = self.some.size if self.some is not None else None
        return size is not None and isinstance(value, Constant) and value.value is not True and value.value == size

    def _counts(self, value: Value) -> bool:
        if not isinstance(value, Application) or not isinstance(value.callee, External):
            return False
        if value.callee.name in self.counts:
            return not value.arguments and self.some is None
        if value.callee.name == "builtins.len" and len(value.arguments) == 1:
            given = value.arguments[0]
            return given.expression is not None and self.is_devices(given.expression, given.module)
        return False

    def is_devices(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression is certainly the list of devices that pmap uses: by default, or in all of a program."""
        if isinstance(self.some, ListedDevices):
            return self.some.is_one(node, module)
        if self.some is not None:
            return some_devices.named(node, module, self.resolver) == self.some
        return self.given.are_all(node, module)

    def is_over_devices(self, over: ast.comprehension, module: Module) -> bool:
        """Whether a comprehension has one step for each device: `for i in range(n)`, `for _ in jax.local_devices()`."""
        match over:
            case ast.comprehension(iter=ast.Call(func=func, args=[count], keywords=[]), ifs=[], is_async=0):
                if self.external(func, module) == "builtins.range":
                    return self.is_count(count, module)
        return not over.ifs and not over.is_async and self.is_devices(over.iter, module)
