"""Programs in which arrays may lie on other devices than those of a map that is given none, or in another order.

`jax.pmap` moves an argument to its own devices from as many others, in any order; `jax.jit` raises "Received
incompatible devices". All devices and the first few are those that a map takes itself.
"""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout.device_lists import changes_devices, is_made_of_all
from jaxmigrate.flow.variance import loaded_beside
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once, once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import mapped_sites
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External

ARRAYS = ("array", "asarray")
REORDERS = ("choice", "flip", "flipud", "permutation", "reversed", "roll", "sample")
ORDERED_MESHES = ("make_mesh", "create_device_mesh", "create_hybrid_device_mesh")
PUTS = ("device_put", "make_array_from", "with_sharding_constraint", "in_shardings", "out_shardings")
PRINTS = ("debug", "info", "pprint", "print", "warning")
TELLS = (*PRINTS, "len", "repr", "str")
GROUPS = ("process_index", "host_id", "platform")  # what a process asks of devices to find its own


@once_each
def uses_other_devices(module: Module, resolver: Resolver) -> bool:
    """Whether what runs with a module has a list of devices that is neither all of them nor the first few.

    Where all its maps are given the same devices, these are the ones that its arrays lie on.
    """
    choosing = _choosing(resolver)
    if not choosing:
        return False
    beside = loaded_beside(resolver, module)
    if beside.isdisjoint(choosing):
        return False
    mapped = (one for one in resolver.project.named if one in beside)
    given = [site.keyword("devices") for one in mapped for site in mapped_sites(one, resolver)]
    nodes = [argument.expression for argument in given if argument is not None and argument.expression is not None]
    return len(nodes) < len(given) or len({ast.dump(node) for node in nodes}) > 1


@once_each
def may_order_devices(module: Module, resolver: Resolver) -> bool:
    """Whether a module puts arrays on a mesh of its own whose devices JAX orders by how they are connected.

    On TPUs `jax.make_mesh` takes them round a ring; `jax.devices()`, and pmap, by their numbers.
    """
    if not any(word in module.text for word in ORDERED_MESHES) or not any(word in module.text for word in PUTS):
        return False
    called = {last_name(call.func): call for call in module.table.calls if last_name(call.func) in ORDERED_MESHES}
    values = (resolver.value(call.func, module) for call in called.values())
    return any(isinstance(one, External) and one.name.startswith("jax.") for one in values)


@once
def _choosing(resolver: Resolver) -> list[Module]:
    """The modules of a program that choose among devices, or put them in another order."""
    return [one for one in resolver.project.program if _others(one, resolver) or changes_devices(one, resolver)]


@once_each
def _others(module: Module, resolver: Resolver) -> list[ast.expr]:
    """The expressions of a module that choose among devices, or put them in another order."""
    if "devices" not in module.text:
        return []
    others = (node for node in module.nodes if isinstance(node, ast.expr) and _is_other(node, module, resolver))
    return [node for node in others if not _is_only_told(node, module, resolver)]


def _is_only_told(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether a list gets one name, under which it is only shown: counted, printed, or made text device by device."""
    parent = module.table.parents.get(node)
    match parent:
        case ast.Assign(targets=[ast.Name(id=name) as target], value=value) if value is node:
            scope = module.table.scope_of[target]
        case _:
            return False
    if scope.kind != "function" or scope.lookup(name) is not scope or len(scope.bindings.get(name, ())) != 1:
        return False
    uses = [one for one in module.table.named.get(name, ()) if isinstance(one, ast.Name) and one is not target]
    own = [one for one in uses if module.table.scope_of[one].lookup(name) is scope]
    return all(_is_shown(one, module, resolver) for one in own)


def _is_shown(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether all that an expression does with a list is to show it, or each of its elements, as text or a number."""
    parents = module.table.parents
    parent = parents.get(node)
    match parent:
        case ast.comprehension(target=ast.Name(id=name), iter=ast.Name()) if parent.iter is node:
            made = parents.get(parent)
            element = made.elt if isinstance(made, ast.ListComp | ast.GeneratorExp) else None
            return isinstance(element, ast.Call) and _tells(element, module, resolver) and _read_is(element, name)
        case ast.Dict() | ast.Tuple() | ast.List() | ast.JoinedStr():
            return _is_shown(parent, module, resolver)
        case ast.FormattedValue():
            return True
        case ast.Call():
            return node in parent.args and _tells(parent, module, resolver)
    return isinstance(parent, ast.Expr)


def _tells(call: ast.Call, module: Module, resolver: Resolver) -> bool:
    """Whether a call of a library's function shows what it is given, or gives its text or length."""
    value = resolver.value(call.func, module)
    of_library = isinstance(value, External) and not call.keywords and bool(call.args)
    return of_library and (last_name(call.func) in PRINTS if len(call.args) != 1 else last_name(call.func) in TELLS)


def _read_is(call: ast.Call, name: str) -> bool:
    """Whether a call is given what goes by a name."""
    return [ast.dump(one) for one in call.args] == [_named(name)]


def _named(name: str) -> str:
    """What reading a name looks like."""
    return ast.dump(ast.Name(name, ast.Load()))


def _is_other(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    match node:
        case ast.Subscript(value=held, slice=ast.Slice(lower=lower, step=step)):
            return not (_is_start(lower) and step is None) and _is_list(held, module, resolver)
        case ast.Subscript(value=held, slice=ast.List() | ast.ListComp()):
            return _is_list(held, module, resolver)
        case ast.List(elts=elements) | ast.Tuple(elts=elements) if len(elements) > 1:
            return sum(_is_one(element, module, resolver) for element in elements) > 1
        case ast.ListComp(elt=element, generators=[over]) | ast.GeneratorExp(elt=element, generators=[over]):
            return _chooses(element, over, module, resolver)
        case ast.Call(func=func, args=[*arguments], keywords=keywords):
            turned = last_name(func) == "sorted" and any(keyword.arg == "reverse" for keyword in keywords)
            reorders = turned or last_name(func) in REORDERS
            return reorders and any(_is_list(argument, module, resolver) for argument in arguments)
    return False


def _is_start(node: ast.expr | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value in (None, 0))


def _is_one(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether an expression takes one device from a list of them."""
    return (
        isinstance(node, ast.Subscript)
        and not isinstance(node.slice, ast.Slice)
        and _is_list(node.value, module, resolver)
    )


def _chooses(element: ast.expr, over: ast.comprehension, module: Module, resolver: Resolver) -> bool:
    """Whether a comprehension takes some devices of a list: by their numbers, or by a condition on each."""
    if _is_one(element, module, resolver):
        assert isinstance(element, ast.Subscript)
        counted = isinstance(over.iter, ast.Call) and last_name(over.iter.func) == "range" and len(over.iter.args) == 1
        return not (counted and not over.ifs and ast.dump(element.slice) == _read(over.target))
    asked = {n.attr for test in over.ifs for n in ast.walk(test) if isinstance(n, ast.Attribute)}
    return bool(over.ifs) and asked.isdisjoint(GROUPS) and _is_list(over.iter, module, resolver)


def _read(target: ast.expr) -> str:
    """What reading the target of a loop looks like."""
    return _named(target.id) if isinstance(target, ast.Name) else ""


def _is_list(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether some value of an expression is a list of all devices, a numpy array of them, or as many of the first."""
    match node:
        case ast.Call(func=func, args=[held, *_]) if last_name(func) in ARRAYS:
            return _is_list(held, module, resolver)
        case ast.Call(func=ast.Attribute(value=held, attr="copy" | "reshape")):
            return _is_list(held, module, resolver)
    return any(is_made_of_all(value, resolver) for value in resolver.values(node, module))
