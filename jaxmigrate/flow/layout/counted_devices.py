"""A number of devices that a program chooses when it runs, and gives to no map: `args.num_devices`.

Arrays have so many rows, for which pmap takes the first devices. A mesh of as many holds them as global arrays,
whatever the number is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property

from jaxmigrate.flow.layout.device_counts import DeviceCounts
from jaxmigrate.flow.layout.device_idents import COUNTED, Ident, Lists, lists_of
from jaxmigrate.flow.layout.idioms import Idioms
from jaxmigrate.flow.layout.listed_devices import ListedDevices, scope_of
from jaxmigrate.flow.layout.named_counts import COUNT
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.library import last_names
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import External, Parameter

DEEPEST = 4  # a parameter of a parameter
MAKERS = last_names("stacks", "tiles", "broadcasts", "leads") | {"reshape"}
SAID = ("count", "device", "gpu", "tpu", "accelerator", "ndev")  # some of which the text of such a program has


class CountedDevices(ListedDevices):
    """The first devices, as many as a number says that a program chooses; `given` is an expression of that."""

    is_counted = True

    def __init__(self, ident: Ident, given: tuple[ast.expr, Module], resolver: Resolver, names: frozenset[str]) -> None:
        super().__init__({ident: given}, resolver, of_maps=False)
        self.names = names
        (self.ident,) = self.idents

    @cached_property
    def is_certain(self) -> bool:
        """Whether it is one number for the whole run."""
        return self._is_made_once(self.ident) and not self.is_unsure

    @property
    def are_put_by_one(self) -> bool:
        """Whether the program is one process: one of several has a row for each of its devices."""
        return True

    @property
    def leaves_to_maps(self) -> bool:
        """Whether the maps lay out what is put nowhere: they have no devices of their own."""
        return False

    def assumption(self) -> Assumption:
        """What a reader takes for granted of other numbers."""
        says = f"arrays with `{ast.unparse(self.given)}` rows are passed to maps over as many devices alone"
        says += ", and nothing changes the settings that it is made by" * self.is_unsure
        return Assumption("likely", "splits", "", says, self.module, self.given)

    def text(self, jax: str) -> str:
        """What a message calls the list."""
        return f"{jax}.devices()[:{ast.unparse(self.given)}]"

    def count(self, jax: str) -> str:
        """What a message calls how many they are."""
        del jax
        return ast.unparse(self.given)

    def source(self, said: str, jax: str, numpy: str) -> str:
        """The source of the devices of a mesh: where there are fewer it raises, as pmap does."""
        return f"{numpy}.array({jax}.devices()[:{said}]).reshape({said})"

    def number(self, said: str) -> str:
        """The source of how many they are."""
        return said

    @property
    def starts_backend(self) -> bool:
        """Whether the number itself comes from the devices, so that a mesh may be made where it is, at import too."""
        return _is_of_devices(self.given, self.module, self.lists)

    def of_site(self, site: MappedSite) -> Ident | None:
        """The list that a map is over, where the number is in sight and a mesh can be made."""
        scope = scope_of(site.node, site.module)
        runs_late = scope is not None and scope.function() is not None
        return super().of_site(site) if runs_late or self.starts_backend else None

    def is_one(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression lists these devices."""
        ident = self.lists.ident(node, module)
        return ident is not None and _number(ident) == self.ident

    def _counted(self, node: ast.expr, module: Module) -> Ident | None:
        if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            return None
        return self.ident if self.lists.ident(node, module) == self.ident else None

    def _may_be_said(self, name: str) -> bool:
        """A number that is written down may be another's as well, by chance."""
        return self.ident[0] != "constant" or name in self.names

    def expression(self, node: ast.expr, module: Module, ident: Ident) -> ast.expr | None:
        """How the number can be said where an expression stands; of an option also by what holds it."""
        said = super().expression(node, module, ident)
        if said is None and ident[0] == "read" and isinstance(ident[2], str) and isinstance(ident[1], tuple):
            owner = self._in_sight(node, module, ident[1])
            return ast.Attribute(owner.node, ident[2], ast.Load()) if owner is not None else None
        return said


class _Asked(Idioms):
    """Takes every number for that of the devices, and keeps those that it is asked for."""

    def __init__(self, resolver: Resolver) -> None:
        super().__init__(resolver)
        self.asked: list[tuple[ast.expr, Module]] = []

    def is_count(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression may be a number."""
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            self.asked.append((node, module))
        return True


def chosen(sites: Iterable[MappedSite], resolver: Resolver, put_on: ListedDevices | None) -> CountedDevices | None:
    """The number of devices that a program chooses, where it is one and no map is given devices.

    Those that arrays are `put_on` are the first as well.
    """
    if any(site.keyword(name) is not None for site in sites for name in ("devices", "backend", "axis_size")):
        return None
    lists, counts = lists_of(resolver), DeviceCounts(resolver)
    cut = {_number(one) for one in put_on.idents} if put_on is not None else set[Ident | None]()
    if None in cut or len(cut) > 1:
        return None
    found: dict[Ident, tuple[ast.expr, Module]] = {}
    compared, names = _compared(lists), set[str]()
    for node, module in _asked(resolver):
        ident = lists.ident(node, module)
        if ident is None or ident in found or counts.is_count(node, module):
            continue
        said = {*_said(node, module, resolver, DEEPEST)}
        is_name = any(COUNT.match(one.lower()) for one in said)
        if ident in cut or is_name or _is_of_devices(node, module, lists) or ident in compared:
            found[ident] = node, module
            names |= said
    if len(found) != 1 or (cut and cut != {*found}):
        return None
    ((ident, given),) = found.items()
    return CountedDevices(ident, given, resolver, frozenset(names))


def _number(ident: Ident) -> Ident | None:
    """How many of all devices a list has, if it is the first."""
    match ident:
        case ("first", ("devices", "jax.devices" | "jax.local_devices"), tuple() as number):
            return number
    return None


def _asked(resolver: Resolver) -> list[tuple[ast.expr, Module]]:
    """The numbers that may be those of rows which are made for devices."""
    idioms = _Asked(resolver)
    for module in resolver.project.program:
        text = module.text.lower()
        if any(one in text for one in SAID) and any(one in text for one in MAKERS):
            for call in module.table.calls:
                if last_name(call.func) in MAKERS:
                    idioms.of_array(call, module)
    return idioms.asked


def _said(node: ast.expr, module: Module, resolver: Resolver, depth: int) -> Iterator[str]:
    """The names of a number: its own, and those of what calls give the parameter that it is."""
    if isinstance(node, ast.Subscript):
        node = node.slice
    yield node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else last_name(node)
    value = resolver.value(node, module) if depth > 0 and isinstance(node, ast.Name | ast.Attribute) else None
    if isinstance(value, Parameter):
        for one, where in callers_of(resolver).written(value) or ():
            yield from _said(one, where, resolver, depth - 1)


def _is_of_devices(node: ast.expr, module: Module, lists: Lists) -> bool:
    """Whether a number is made of that of the devices: `min(limit, jax.device_count())`, `n or jax.device_count()`."""
    root, home = lists.root(node, module)
    if not isinstance(root, ast.Call | ast.BinOp | ast.BoolOp | ast.IfExp):
        return False
    return any(_counts_all(one, home, lists) for one in ast.walk(root))


def _counts_all(node: ast.AST, module: Module, lists: Lists) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[ast.Call() as held]):
            return _counts_all(held, module, lists)
        case ast.Call(func=func):
            value = lists.resolver.value(func, module)
            return isinstance(value, External) and value.name in (*COUNTED, *COUNTED.values())
    return False


def _compared(lists: Lists) -> set[Ident | None]:
    """The numbers that a program compares with that of the devices: `if n > jax.device_count(): raise ...`."""
    return {
        lists.ident(one, module)
        for module in lists.resolver.project.program
        for node in (module.nodes if "device" in module.text else ())
        if isinstance(node, ast.Compare) and len(node.comparators) == 1
        for one, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left))
        if isinstance(one, ast.Name | ast.Attribute) and _counts_all(other, module, lists)
    }
