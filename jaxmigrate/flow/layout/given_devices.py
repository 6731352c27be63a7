"""Devices that a map, or what makes its arrays, is given: whether they are all devices, as pmap takes them itself."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from jaxmigrate.flow.layout import device_lists
from jaxmigrate.flow.layout.device_lists import Whose
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite
from jaxmigrate.program.values import Constant, External, Function, Parameter

DEEPEST_NAME = 4  # `devices = chosen`, `return devices`


class GivenDevices:
    """Asks what an expression lists; `is_count` says whether another is the number of all devices.

    `whose` says whose devices count where there are several processes.
    """

    def __init__(self, resolver: Resolver, is_count: Callable[[ast.expr, Module], bool], whose: Whose = "any") -> None:
        self.resolver = resolver
        self.whose = whose
        self.is_count = is_count

    def are_none(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression is None wherever its function is called."""
        callers = callers_of(self.resolver)
        values = self.resolver.values(node, module)
        each = [v for one in values for v in (callers.passed(one) if isinstance(one, Parameter) else (one,))]
        return all(one == Constant(None) for one in each)

    def are_all(self, node: ast.expr, module: Module, depth: int = DEEPEST_NAME) -> bool:
        """Whether an expression is certainly the list of devices that pmap uses by default, in its order."""
        if device_lists.are_all(self.resolver.values(node, module), self.resolver, self.whose):
            return True
        copied = self._copied(node, module)
        if copied is not None:
            return self.are_all(copied, module, depth)
        match node:
            case ast.IfExp(body=body, orelse=orelse):
                return self.are_all(body, module, depth) and self.are_all(orelse, module, depth)
            case ast.BoolOp(op=ast.Or(), values=[*others, last]):
                nones = all(self.are_none(one, module) or self.are_all(one, module, depth) for one in others)
                return nones and self.are_all(last, module, depth)
            case ast.Name() if depth > 0:
                named = self._is_named(node, module, lambda one: self.are_all(one, module, depth - 1))
                return named or self._is_passed(node, module, depth)
            case ast.Call(func=func) if depth > 0:
                value = self.resolver.value(func, module)
                returned = [*_returned(value)] if isinstance(value, Function) else []
                home = value.module if isinstance(value, Function) else module
                return bool(returned) and all(one and self.are_all(one, home, depth - 1) for one in returned)
        return False

    def are_first(self, node: ast.expr, module: Module, depth: int = DEEPEST_NAME) -> bool:
        """Whether an expression is all devices, as many of the first as may be, or None.

        A map over as many rows takes the same by itself, and raises if it has more or fewer.
        """
        match node:
            case ast.Constant(value=None):
                return self.whose != "own"
            case ast.Subscript(value=held, slice=ast.Slice(lower=lower, upper=ast.expr(), step=None)):
                return _is_start(lower) and self.are_all(held, module)
            case ast.IfExp(body=body, orelse=orelse):
                return all(self.are_first(one, module, depth) for one in (body, orelse))
            case ast.Name() if depth > 0 and not self.are_all(node, module):
                return self._is_named(node, module, lambda one: self.are_first(one, module, depth - 1))
        return self.are_all(node, module)

    def _is_passed(self, node: ast.Name, module: Module, depth: int) -> bool:
        """Whether a name is a parameter for which every call writes all devices, and nothing changes that in place."""
        value = self.resolver.value(node, module)
        written = callers_of(self.resolver).written(value) if isinstance(value, Parameter) else None
        all_written = written is not None and all(self.are_all(one, where, depth - 1) for one, where in written)
        return all_written and not device_lists.may_change(node.id, self.resolver)

    def _is_named(self, node: ast.Name, module: Module, holds: Callable[[ast.expr], bool]) -> bool:
        """Whether something holds of all that a name is assigned, and nothing changes that in place."""
        if node not in module.table.scope_of:
            return False
        found = self.resolver.bindings_at(node, module)
        values = [b.value for b in found if b.kind == "assign" and not b.path and b.value is not None]
        whole = bool(found) and len(values) == len(found)
        whole = whole and not self.resolver.attributes.of_variable(found, node.id, module)
        return whole and all(map(holds, values)) and not device_lists.may_change(node.id, self.resolver)

    def _copied(self, node: ast.expr, module: Module) -> ast.expr | None:
        """The list that an expression is a copy of, element by element."""
        match node:
            case ast.Subscript(value=held, slice=ast.Slice(lower=lower, upper=upper, step=None)):
                whole = _is_start(lower) and (upper is None or self.is_count(upper, module))
                return held if whole else None
            case ast.List(elts=[ast.Starred(value=held)]) | ast.Tuple(elts=[ast.Starred(value=held)]):
                return held
            case ast.Call(func=func, args=[held], keywords=[]):
                value = self.resolver.value(func, module)
                return held if isinstance(value, External) and value.name in device_lists.COPIES else None
            case ast.ListComp(
                elt=element, generators=[ast.comprehension(target=ast.Name(id=name), iter=over, ifs=[], is_async=0)]
            ):
                return self._gone_through(element, name, over, module)
        return None

    def _gone_through(self, element: ast.expr, name: str, over: ast.expr, module: Module) -> ast.expr | None:
        """The list in `[d for d in devices]` and in `[devices[i] for i in range(n)]`."""
        match element, over:
            case ast.Name(id=same), _ if same == name:
                return over
            case (
                ast.Subscript(value=ast.expr() as held, slice=ast.Name(id=same)),
                ast.Call(func=func, args=[count], keywords=[]),
            ) if same == name:
                value = self.resolver.value(func, module)
                ranges = isinstance(value, External) and value.name == "builtins.range"
                return held if ranges and self.is_count(count, module) else None
        return None


def is_given(site: MappedSite, whose: Whose, resolver: Resolver, is_count: Callable[[ast.expr, Module], bool]) -> bool:
    """Whether a map is given devices, or the first of them, that are certainly those."""
    argument = site.keyword("devices")
    if argument is None or argument.expression is None:
        return False
    return GivenDevices(resolver, is_count, whose).are_first(argument.expression, argument.module)


def _is_start(node: ast.expr | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value in (None, 0) and node.value is not False)


def _returned(function: Function) -> Iterator[ast.expr | None]:
    """What a plain function without decorators returns; nothing where it may end otherwise, None for a generator."""
    node = function.node
    if isinstance(node, ast.FunctionDef) and not node.decorator_list and isinstance(node.body[-1], ast.Return):
        own = [one for one in ast.walk(node) if isinstance(one, ast.Return | ast.Yield | ast.YieldFrom)]
        yield from (one.value if isinstance(one, ast.Return) else None for one in own)
