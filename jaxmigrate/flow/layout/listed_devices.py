"""Lists of devices that a program chooses when it runs, by its configuration or its arguments, and gives to its maps.

Each makes a mesh, over which the arrays of these maps are global. How many devices it has, `len(devices)` says, or the
number that cut it off.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from jaxmigrate.flow.layout import put_over
from jaxmigrate.flow.layout.device_idents import (
    Ident,
    Lists,
    class_of,
    lists_of,
    parts_of,
    receiver,
    settled,
    stores_of,
)
from jaxmigrate.flow.layout.evaluated_once import is_run_once
from jaxmigrate.flow.layout.given_devices import GivenDevices
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Scope
from jaxmigrate.program.sites import MappedSite
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Application, Constant, External, Parameter, Value

LISTS = ("attribute", "devices", "either", "first", "given", "name", "once", "part", "said", "some")  # may be a list
PUTS = ("replicate", "device_put_replicated", "device_put_sharded")


class Place(NamedTuple):
    """A name in the scope that holds it, or an attribute of the object that a method has: where a list is kept."""

    name: str
    holder: Scope
    owner: str = ""  # what the method calls that object

    @property
    def node(self) -> ast.expr:
        """The expression that reads it."""
        if self.owner:
            return ast.Attribute(ast.Name(self.owner, ast.Load()), self.name, ast.Load())
        return ast.Name(self.name, ast.Load())


class ListedDevices:
    """The lists that the maps of a program are given, each of them when it runs; `given` is an expression of one.

    Where no map is given any, they are those that arrays are put on: not `of_maps`. `of_every_map`: each is given one.
    """

    size = None
    is_counted = False  # whether they are the first of all, as many as a number says

    def __init__(
        self,
        given: Mapping[Ident, tuple[ast.expr, Module]],
        resolver: Resolver,
        *,
        of_maps: bool,
        of_every_map: bool = False,
    ) -> None:
        self.of_maps = of_maps
        self.of_every_map = of_every_map
        self.idents = frozenset(given)
        self.given, self.module = next(iter(given.values()))
        self.resolver = resolver
        self.lists = lists_of(resolver)

    @cached_property
    def is_certain(self) -> bool:
        """Whether each is a list for certain, and one for the whole run, so that its arrays meet no other."""
        return all(_is_list_for_certain(one) and self._is_made_once(one) for one in self.idents) and not self.is_unsure

    @cached_property
    def is_unsure(self) -> bool:
        """Whether something may change what a list is made of between two readings of it."""
        return any(one in self.lists.unsure for ident in self.idents for one in parts_of(ident))

    def _is_made_once(self, ident: object) -> bool:
        home = self.lists.homes.get(ident) if isinstance(ident, tuple) else None
        once = home is None or is_run_once(*home, self.resolver)
        return once and (not isinstance(ident, tuple) or all(map(self._is_made_once, ident)))

    @cached_property
    def are_put_by_one(self) -> bool:
        """Whether arrays are put on them: a process can do so on its own devices alone."""
        return any(self.lists.ident(*one) in self.idents for one in _put_on(self.resolver))

    @cached_property
    def are_own(self) -> bool:
        """Whether all maps are over devices of this process alone, so that what others do is not its concern."""
        exchange = any("multihost_utils" in module.text for module in self.resolver.project.program)
        return self.of_every_map and all(map(_is_of_own, self.idents)) and not exchange

    def assumption(self) -> Assumption:
        """What a reader takes for granted of other lists."""
        says = f"arrays on the devices in `{ast.unparse(self.given)}` are passed to maps over the same ones alone"
        says += ", and nothing changes the settings that it is made by" * self.is_unsure
        return Assumption("likely", "splits", "", says, self.module, self.given)

    def text(self, jax: str) -> str:
        """What a message calls a list."""
        del jax
        return ast.unparse(self.given)

    def count(self, jax: str) -> str:
        """What a message calls how many they are."""
        return f"len({self.text(jax)})"

    @property
    def starts_backend(self) -> bool:
        """Whether what says the devices has found them already, so that a mesh may be made where it is."""
        return True

    def source(self, said: str, jax: str, numpy: str) -> str:
        """The source of the devices of a mesh, where a list is `said`."""
        del jax, numpy
        return said

    def number(self, said: str) -> str:
        """The source of how many devices a list has that is `said`."""
        return f"len({said})"

    def _may_be_said(self, name: str) -> bool:
        """Whether a name says a list, and does not have the same value by chance."""
        del name
        return True

    def is_one(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression is one of the lists."""
        return self.lists.ident(node, module) in self.idents

    def counts(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression is the number of devices of one of them."""
        return self._counted(node, module) is not None

    def of(self, node: ast.expr, module: Module) -> Ident | None:
        """The list that an operation on arrays is about: the one that it names, or of which it has the number."""
        found = {self.lists.ident(one, module) for one in _expressions(node)} & self.idents
        if not found:
            found = {i for one in _expressions(node) if (i := self._counted(one, module)) is not None}
        if not found and len(self.idents) == 1:
            found = set(self.idents)
        return found.pop() if len(found) == 1 else None

    def of_site(self, site: MappedSite) -> Ident | None:
        """The list that a map is over: that it is given, or the only one, where it is in sight."""
        listed = self.given_to(site)
        ident = self.lists.ident(listed, site.module) if listed is not None else None
        if listed is None and len(self.idents) == 1:
            (only,) = self.idents
            ident = only if self.expression(site.node, site.module, only) is not None else None
        return ident if ident in self.idents else None

    def given_to(self, site: MappedSite) -> ast.expr | None:
        """The list that a map is given; None where it is given none."""
        argument = site.keyword("devices")
        node = argument.expression if argument is not None else None
        return node if node is not None and self.resolver.values(node, site.module) != (Constant(None),) else None

    def at_site(self, site: MappedSite) -> ast.expr | None:
        """How the list that a map is over can be said there."""
        listed, ident = self.given_to(site), self.of_site(site)
        return listed or (self.expression(site.node, site.module, ident) if ident is not None else None)

    def _counted(self, node: ast.expr, module: Module) -> Ident | None:
        """The list of which an expression is the number of devices."""
        if not isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            return None
        held = _length(node)
        if held is not None:
            ident = self.lists.ident(held, module)
            return ident if ident in self.idents else self._made_by(ident, "some")
        values = passed_values(node, module, self.resolver)
        value = values[0] if len(values) == 1 else None
        if isinstance(value, Application) and value.callee == External("builtins.len") and len(value.arguments) == 1:
            given = value.arguments[0]
            ident = self.lists.ident(given.expression, given.module) if given.expression is not None else None
            if ident in self.idents:
                return ident
        counted = self.lists.ident(node, module)
        if counted is not None and counted[0] == "length" and counted[1] in self.idents:
            return counted[1]
        return self._made_by(counted, "first")

    def _made_by(self, how: Ident | None, kind: str) -> Ident | None:
        """The list that was cut off at a number, or made of the devices at some places."""
        found = [one for one in self.idents if how is not None and _is_made_by(one, kind, how)]
        return found[0] if len(found) == 1 else None

    @cached_property
    def leaves_to_maps(self) -> bool:
        """Whether no batch lies on one device, so that the maps themselves lay out what is put nowhere."""
        return not any(
            last_name(call.func) == "device_put" and put_over.devices_put_over(call, module, self.resolver) is None
            for module in self.resolver.project.program
            for call in (module.table.calls if "device_put" in module.text else ())
        )

    def expression(self, node: ast.expr, module: Module, ident: Ident) -> ast.expr | None:
        """How a list can be said where an expression stands: as it says it itself, or by a name that is in sight."""
        for one in _expressions(node):
            is_name = isinstance(one, ast.Name | ast.Attribute) or _is_short_call(one)
            if (is_name or one is self.given) and self.lists.ident(one, module) == ident:
                return one
        place = self._in_sight(node, module, ident)
        if place is not None:
            return place.node
        own = not isinstance(self.given, ast.Name | ast.Attribute) and self.module is module and len(self.idents) == 1
        return self.given if own and _stands_before(self.given, node, module) else None

    @staticmethod
    def _is_bound(name: str, scope: Scope, node: ast.expr, module: Module, *, later: bool) -> bool:
        """Whether a name certainly has its list where an expression stands, which may run `later` than where it is."""
        if any(one.kind in ("param", "from") for one in scope.bindings[name]) and len(scope.bindings[name]) == 1:
            return True
        statement = settled(name, scope, module)
        return statement is not None and _stands_before(statement, node, module, later=later)

    def _in_sight(self, node: ast.expr, module: Module, ident: Ident) -> Place | None:
        scope: Scope | None = scope_of(node, module)
        inner, function = scope, scope.function() if scope is not None else None
        while scope is not None:
            for name in scope.bindings if scope.kind != "class" else ():
                known = (
                    inner is not None
                    and inner.lookup(name) is scope
                    and self._may_be_said(name)
                    and ident == self.lists.of_name(name, scope, module)
                )
                if known and self._is_bound(name, scope, node, module, later=scope.function() is not function):
                    return Place(name, scope)
            scope = scope.parent
        cls = class_of(node, module)
        method = module.table.function_of(node)
        owner = receiver(method, module) if method is not None else ""
        for name in {*stores_of(self.resolver)} if cls is not None and owner else ():
            for store, home in stores_of(self.resolver)[name]:
                if home is module and class_of(store, home) is cls and self.lists.ident(store, home) == ident:
                    same = home.table.function_of(store) is method
                    if not same or store.lineno < node.lineno:
                        return Place(name, module.table.root, owner)
        return None


def given(sites: Iterable[MappedSite], resolver: Resolver) -> ListedDevices | None:
    """The lists that the maps of a program are given; where none is given any, those that arrays are put on."""
    lists, found, of_every_map = lists_of(resolver), dict[Ident, tuple[ast.expr, Module]](), True
    for site in sites:
        argument = site.keyword("devices")
        node = argument.expression if argument is not None else None
        if argument is None or (node is not None and resolver.values(node, argument.module) == (Constant(None),)):
            of_every_map = False
            continue
        ident = _list(node, site.module, lists) if node is not None and argument.module is site.module else None
        if ident is None or node is None:
            return None
        found.setdefault(ident, (node, site.module))
    of_maps = bool(found)
    for node, module in _put_on(resolver) if not of_maps else ():
        ident = _list(node, module, lists)
        if ident is not None:
            found.setdefault(ident, (node, module))
    every = GivenDevices(resolver, lambda *_: False)
    if all(every.are_all(*one) for one in found.values()):
        return None  # which all arrays lie on without being told
    return ListedDevices(found, resolver, of_maps=of_maps, of_every_map=of_maps and of_every_map)


def _stands_before(first: ast.AST, node: ast.AST, module: Module, *, later: bool = False) -> bool:
    """Whether a statement, or that of an expression, has run wherever another runs, in the same block or within it."""
    statement = module.table.statement_of(first)
    block = module.table.block_of(statement)
    current: ast.AST | None = node
    while current is not None and current not in block:
        current = module.table.parents.get(current)
    if statement is None or not isinstance(current, ast.stmt):
        return False
    return later or block.index(statement) < block.index(current)


def _list(node: ast.expr, module: Module, lists: Lists) -> Ident | None:
    """What identifies a list of devices that is one: nothing of None, or of what is only read from settings."""
    ident = lists.ident(node, module)
    root, home = lists.root(node, module)
    while isinstance(root, ast.BoolOp) and isinstance(root.op, ast.Or):
        root = root.values[-1]  # what is before it is a list, or gives way to it
    if ident is None or ident[0] not in LISTS or Constant(None) in passed_values(root, home, lists.resolver):
        return None
    return ident


def _is_list_for_certain(ident: Ident) -> bool:
    """Whether what is identified is a list, and not None or a number."""
    if ident[0] == "either":
        return all(isinstance(one, tuple) and _is_list_for_certain(one) for one in ident[2:])
    if ident[0] == "given":
        return isinstance(ident[1], tuple) and _is_list_for_certain(ident[1])
    return ident[0] in ("devices", "first", "some", "said")


def _is_of_own(ident: object) -> bool:
    """Whether a list certainly has devices of `jax.local_devices()` alone, which are those of this process."""
    match ident:
        case ("devices", "jax.local_devices", *given):
            return all(isinstance(one, tuple) and one[:2] == ("keyword", "backend") for one in given)
        case ("first" | "some" | "given", held, *_):
            return _is_of_own(held)
        case ("either", _, *ways):
            return all(map(_is_of_own, ways))
    return False


def _made(ident: Ident) -> Ident:
    """How a list is made, perhaps by a function that is given something."""
    return _made(ident[1]) if ident[0] == "given" and isinstance(ident[1], tuple) else ident


def _is_made_by(ident: Ident, kind: str, how: Ident) -> bool:
    """Whether a list was made by a number or by places, perhaps by a function that gives these as well."""
    made = _made(ident)
    by_one = ident[0] == how[0] == "given" and ident[2:] == how[2:] and made[-1] == how[1]
    return made[0] == kind and (by_one or made[2] == how)


def passed_values(node: ast.expr, module: Module, resolver: Resolver) -> list[Value]:
    """What an expression stands for, of parameters what their calls give them."""
    callers = callers_of(resolver)
    values = resolver.values(node, module)
    return [v for one in values for v in (callers.passed(one) if isinstance(one, Parameter) else (one,))]


def _put_on(resolver: Resolver) -> Iterator[tuple[ast.expr, Module]]:
    """The devices that calls of libraries name on which they put arrays."""
    for module in resolver.project.program:
        if not any(word in module.text for word in (*PUTS, "device_put")):
            continue
        for call in module.table.calls:
            over = put_over.devices_put_over(call, module, resolver) if last_name(call.func) == "device_put" else None
            if over is not None:
                yield over
            elif last_name(call.func) in PUTS and isinstance(resolver.value(call.func, module), External):
                by_name = [k.value for k in call.keywords if k.arg == "devices"]
                yield from ((one, module) for one in (by_name or call.args[1:2]))


def scope_of(node: ast.expr, module: Module) -> Scope | None:
    """The scope in which an expression is evaluated, as far as the names in it tell."""
    for one in ast.walk(node):
        if one in module.table.scope_of:
            return module.table.scope_of[one]
    return None


def _expressions(node: ast.expr) -> Iterator[ast.expr]:
    """The expressions that one consists of, those of inner functions included, from the outermost on."""
    yield from (one for one in ast.walk(node) if isinstance(one, ast.Name | ast.Attribute | ast.Call))


def _is_short_call(node: ast.expr) -> bool:
    """Whether an expression calls a function by its name, without arguments: `get_devices()`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not (node.args or node.keywords)


def _length(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[held], keywords=[]):
            return held
    return None
