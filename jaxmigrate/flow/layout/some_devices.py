"""Programs that use some of the devices: all their maps are given one list, which means the same wherever it stands.

`jax.devices()[:4]` and `[jax.devices()[i] for i in (0, 2)]` are the same list each time, so that a mesh can be made of
it at any place, and arrays put on it are global over that mesh. In such a program what lies on all devices is not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from jaxmigrate.flow.layout import device_lists
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.sites import MappedSite
from jaxmigrate.program.values import Application, Constant, External, Instance, Parameter
from jaxmigrate.records import record

DEEPEST = 4  # `devices = chosen`, a parameter of a parameter


@record
class SomeDevices:
    """Some devices of a list of all: by its bounds, or by their places in it."""

    function: str  # `devices`, `local_devices`
    bounds: tuple[int | None, int | None] = (None, None)
    places: tuple[int, ...] = ()

    def text(self, jax: str) -> str:
        """The source of the list; `jax` is what a file calls that package."""
        every = f"{jax}.{self.function}()"
        if self.places:
            return f"[{every}[i] for i in ({', '.join(map(str, self.places))}{',' * (len(self.places) == 1)})]"
        return f"{every}[{':'.join('' if one is None else str(one) for one in self.bounds)}]"

    def count(self, jax: str) -> str:
        """The source of how many they are: of those within bounds there may be fewer."""
        return str(len(self.places)) if self.places else f"len({self.text(jax)})"

    @property
    def size(self) -> int | None:
        """How many they are where there are enough, as far as the list itself says so."""
        if self.places:
            return len(self.places)
        first, last = self.bounds[0] or 0, self.bounds[1]
        return last - first if last is not None and 0 <= first < last else None


def given_to_all(sites: Iterable[MappedSite], resolver: Resolver) -> SomeDevices | None:
    """The devices that all maps of a program are given; None where one is given none, or others, or any may be."""
    found: set[SomeDevices | None] = set()
    for site in sites:
        devices = site.keyword("devices")
        listed = devices.expression if devices is not None else None
        found.add(named(listed, devices.module, resolver) if devices is not None and listed is not None else None)
    return found.pop() if len(found) == 1 else None


def named(node: ast.expr, module: Module, resolver: Resolver, depth: int = DEEPEST) -> SomeDevices | None:
    """The devices that an expression certainly lists, which nothing changes; None for all, and for any others."""
    match node:
        case ast.Subscript(value=held, slice=ast.Slice(lower=lower, upper=upper, step=None)):
            function = _every(held, module, resolver)
            bounds = [_bound(one, module, resolver) for one in (lower, upper)]
            if not function or ... in bounds or bounds in ([None, None], [0, None]):
                return None
            return SomeDevices(function, (bounds[0], bounds[1]))  # type: ignore[arg-type] # an ellipsis is none here
        case ast.List(elts=[_, *_] as elements) | ast.Tuple(elts=[_, *_] as elements):
            return _one_by_one(elements, module, resolver)
        case ast.ListComp(
            elt=ast.Subscript(value=held, slice=ast.Name(id=name)),
            generators=[ast.comprehension(target=ast.Name(id=same), iter=places, ifs=[], is_async=0)],
        ) if name == same:
            function, numbers = _every(held, module, resolver), _numbers(places, module, resolver)
            return SomeDevices(function, places=numbers) if function and numbers else None
        case ast.Call(func=func, args=[held], keywords=[]):
            called = resolver.value(func, module)
            is_copy = isinstance(called, External) and called.name in device_lists.COPIES
            return named(held, module, resolver, depth) if is_copy else None
        case ast.Name() if depth > 0 and node in module.table.scope_of:
            return _of_name(node, module, resolver, depth)
    return None


def _of_name(node: ast.Name, module: Module, resolver: Resolver, depth: int) -> SomeDevices | None:
    """What a name stands for wherever it is assigned, or whatever calls give the parameter that it is."""
    value = resolver.value(node, module)
    if isinstance(value, Parameter):
        written = callers_of(resolver).written(value) or ()
        found = {named(one, where, resolver, depth - 1) for one, where in written}
    else:
        bindings = resolver.bindings_at(node, module)
        if resolver.attributes.of_variable(bindings, node.id, module):
            return None
        found = {_of_binding(one, module, resolver, depth) for one in bindings}
    return found.pop() if len(found) == 1 and not _may_change(node.id, resolver) else None


def _of_binding(binding: Binding, module: Module, resolver: Resolver, depth: int) -> SomeDevices | None:
    """What a name is assigned, in this module or in the one that it is imported from."""
    if binding.kind == "assign" and not binding.path and binding.value is not None:
        return named(binding.value, module, resolver, depth - 1)
    statement = module.table.parents.get(binding.node)
    if binding.kind != "from" or not isinstance(binding.node, ast.alias) or not isinstance(statement, ast.ImportFrom):
        return None
    home = resolver.project.imported(module, statement.module or "", statement.level)
    if home is None or depth <= 0:
        return None
    found = {_of_binding(one, home, resolver, depth - 1) for one in resolver.standing(binding.node.name, home)}
    return found.pop() if len(found) == 1 and not _may_change(binding.node.name, resolver) else None


def _may_change(name: str, resolver: Resolver) -> bool:
    """Whether a program may change the list that goes by a name, or give that name another."""
    return device_lists.may_change(name, resolver) or _is_set_on_modules(name, resolver)


@once_each
def _is_set_on_modules(name: str, resolver: Resolver) -> bool:
    """Whether a program may give a name of a module another value from outside: `settings.DEVICES = some`."""
    return any(
        one.attr == name and isinstance(one.ctx, ast.Store) and not _is_of_object(one, module, resolver)
        for module in resolver.project.program
        if name in module.text
        for one in module.nodes
        if isinstance(one, ast.Attribute)
    )


def _is_of_object(node: ast.Attribute, module: Module, resolver: Resolver) -> bool:
    """Whether what has an attribute is certainly an object: `self` in a method, or what a class of the project made."""
    owner = node.value
    if isinstance(owner, ast.Name):
        function = module.table.function_of(owner)
        held = isinstance(function, ast.FunctionDef) and isinstance(module.table.parents.get(function), ast.ClassDef)
        if held and isinstance(function, ast.FunctionDef) and not function.decorator_list:
            first = [*function.args.posonlyargs, *function.args.args][:1]
            if [one.arg for one in first] == [owner.id]:
                return True
    values = resolver.values(owner, module)
    return bool(values) and all(isinstance(one, Instance) for one in values)


def _every(node: ast.expr, module: Module, resolver: Resolver) -> str:
    """The function that gives the list of all devices that an expression certainly is; empty for any other."""
    values = resolver.values(node, module)
    value = values[0] if len(values) == 1 else None
    if not isinstance(value, Application) or not isinstance(value.callee, External):
        return ""
    function = value.callee.name.removeprefix("jax.")
    return function if function in ("devices", "local_devices") and device_lists.is_all(value, resolver) else ""


def _one_by_one(elements: Sequence[ast.expr], module: Module, resolver: Resolver) -> SomeDevices | None:
    """`[devices[1], devices[2]]`."""
    functions, places = set[str](), list[int]()
    for one in elements:
        place = _bound(one.slice, module, resolver) if isinstance(one, ast.Subscript) else ...
        if not isinstance(one, ast.Subscript) or not isinstance(place, int):
            return None
        functions.add(_every(one.value, module, resolver))
        places.append(place)
    function = functions.pop() if len(functions) == 1 else ""
    return SomeDevices(function, places=tuple(places)) if function else None


def _numbers(node: ast.expr, module: Module, resolver: Resolver) -> tuple[int, ...]:
    """The numbers of a display; nothing where some is not known."""
    if isinstance(node, ast.Name) and node in module.table.scope_of:  # a tuple alone keeps its elements
        node = resolver.assigned(node, module)
        node = node if isinstance(node, ast.Tuple) else ast.Tuple([], ast.Load())
    elements = node.elts if isinstance(node, ast.Tuple | ast.List) else ()
    found = [_bound(one, module, resolver) for one in elements]
    return tuple(one for one in found if isinstance(one, int)) if all(isinstance(one, int) for one in found) else ()


def _bound(node: ast.expr | None, module: Module, resolver: Resolver) -> object:
    """The number that an expression certainly is, or None for no bound; an ellipsis where it may be another."""
    if node is None:
        return None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _bound(node.operand, module, resolver)
        return -inner if isinstance(inner, int) else ...
    value = resolver.value(node, module)
    number = value.value if isinstance(value, Constant) else ...
    return number if isinstance(number, int) and not isinstance(number, bool) else ...
