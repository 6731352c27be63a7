"""`PositionalSharding` becomes `NamedSharding`, where it is in sight what becomes of it.

It laid arrays out by the shape of an array of devices. The dimensions of that array become axes of a mesh; where it was
reshaped or replicated, a PartitionSpec says the same. All uses of the variables that hold one must be in sight: handed
to a function of the project, or reshaped there, it stays.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from jaxmigrate.migrate.api_updates.arrays import called
from jaxmigrate.migrate.api_updates.device_arrays import (
    Layout,
    layout_of,
    names_of,
    replicated,
    reshaped,
    spec_of,
    transposed,
)
from jaxmigrate.migrate.api_updates.rewrite_context import RewriteContext
from jaxmigrate.migrate.api_updates.texts import Texts
from jaxmigrate.program.modules import Module, import_name
from jaxmigrate.program.old_uses import OldReference
from jaxmigrate.program.operations import Code, Replace, code
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding, Scope
from jaxmigrate.program.sites import denotes

NAME = "jax.sharding.PositionalSharding"
SAME = ("device_set", "is_fully_replicated", "is_fully_addressable", "addressable_devices", "memory_kind")
Variable: TypeAlias = tuple[Scope, str]
HANDED_ON = "is passed to code that fix cannot follow"


class Chain(NamedTuple):
    """An expression that makes a sharding of another one: the whole of it, and the layout that comes of it."""

    whole: ast.expr
    layout: Layout | None


class Family(NamedTuple):
    """The uses of one PositionalSharding: chains on variables that hold it or what was made of it."""

    reason: str
    own: Chain
    others: tuple[tuple[ast.Name, Chain], ...] = ()


def family_of(use: OldReference, resolver: Resolver, texts: Texts) -> Family:
    """Follows a PositionalSharding from the call that makes it through the variables that hold it."""
    call = called(use)
    if call is None or len(call.args) != 1 or call.keywords or isinstance(call.args[0], ast.Starred):
        return Family("is not written as `PositionalSharding(devices)`", Chain(use.node, None))
    own = _chain(call, layout_of(_shape(call.args[0], use.module, resolver)), use.module)
    found: list[tuple[ast.Name, Chain]] = []
    pending = [own]
    while pending:
        chain = pending.pop()
        if chain.layout is None:
            return Family("is reshaped or replicated in a way that fix cannot write as a PartitionSpec", own)
        variable = _bound(chain.whole, use.module)
        if variable is None:
            if not _is_handed_to_jax(chain, use.module, resolver):
                return Family(HANDED_ON, own)
            continue
        scope, name = variable
        if (
            not _are_alike(scope.bindings[name], chain)
            or scope.kind == "class"
            or (scope.parent is None and _is_read_elsewhere(name, use.module, texts))
        ):
            return Family(f"is held by {name}, which is assigned again or used in another module", own)
        for node in _reads(variable, use.module):
            found.append((node, _chain(node, chain.layout._replace(reshaped=()), use.module)))
            pending.append(found[-1][1])
    return Family("", own, tuple(found))


def reason(use: OldReference, resolver: Resolver, texts: Texts) -> str:
    """Why a use is left."""
    told = family_of(use, resolver, texts).reason
    return f"{use.row.told}; this one {told}" if told else ""


def apply(desk: RewriteContext, use: OldReference, texts: Texts) -> None:
    """Writes a sharding by names, and what is made of it where it is used."""
    family, call = family_of(use, desk.resolver, texts), called(use)
    spec, mesh = (desk.imported_name(f"jax.sharding.{name}", use.node) for name in ("PartitionSpec", "Mesh"))
    assert call is not None
    assert family.own.layout is not None
    layout = family.own.layout
    text = f"$callee({mesh}($devices, {names_of(layout)}), {spec_of(layout, str(spec))})"
    made = code(text, callee=call.func, devices=_devices(desk, call.args[0], layout))
    desk.operations.append(Replace(family.own.whole, made))
    written = {one.node for one in desk.operations if isinstance(one, Replace)}  # for another that a variable holds
    for node, chain in family.others:
        if chain.whole is not node and chain.layout is not None and chain.whole not in written:
            desk.operations.append(Replace(chain.whole, _derived(desk, node, chain.layout, str(spec))))


def _are_alike(bindings: Sequence[Binding], chain: Chain) -> bool:
    """Whether a variable always holds what one expression makes, wherever it is assigned, in each cell of a notebook.

    What its names stand for may differ: each is written where it is, and how it lies on its mesh is the same for all.
    """
    said = ast.dump(chain.whole)
    alike = all(not one.path and one.value is not None and ast.dump(one.value) == said for one in bindings)
    return alike and (len(bindings) == 1 or (chain.layout is not None and not chain.layout.reshaped))


def _devices(desk: RewriteContext, node: ast.expr, layout: Layout) -> Code:
    """The devices of a mesh, in the shape of its axes."""
    if layout.reshaped:
        numpy = desk.imported_name("numpy", node)
        return code(f"{numpy}.reshape($devices, ({', '.join(layout.reshaped)}))", devices=node)
    if _shape(node, desk.module, desk.resolver) is None:
        return code(f"{desk.imported_name('numpy', node)}.ravel($devices)", devices=node)
    return code("$devices", devices=node)


def _derived(desk: RewriteContext, node: ast.Name, layout: Layout, spec: str) -> Code:
    """A sharding over the mesh of another one, or over its devices in another shape."""
    sharding = desk.imported_name("jax.sharding.NamedSharding", node)
    mesh = f"{node.id}.mesh"
    if layout.reshaped:
        name = desk.imported_name("jax.sharding.Mesh", node)
        mesh = f"{name}({mesh}.devices.reshape({', '.join(layout.reshaped)}), {names_of(layout)})"
    return code(f"{sharding}({mesh}, {spec_of(layout, spec)})")


def _chain(node: ast.expr, layout: Layout | None, module: Module) -> Chain:
    """Follows `.reshape`, `.replicate` and `.T` behind an expression; the layout is None where one cannot be told."""
    parents = module.table.parents
    while layout is not None and isinstance(parent := parents.get(node), ast.Attribute) and parent.attr not in SAME:
        call = parents.get(parent)
        called_here = isinstance(call, ast.Call) and call.func is parent
        if parent.attr == "T":
            node, layout = parent, transposed(layout, None)
        elif isinstance(call, ast.Call) and called_here and parent.attr in STEPS:
            node, layout = call, STEPS[parent.attr](layout, call)
        else:
            layout = None
    return Chain(node, layout)


STEPS = {"reshape": reshaped, "replicate": replicated, "transpose": transposed}


def _bound(whole: ast.expr, module: Module) -> Variable | None:
    """The variable that an expression is assigned to by itself."""
    statement = module.table.parents.get(whole)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    scope = module.table.scope_of.get(whole)
    holder = scope.lookup(target.id) if scope is not None and isinstance(target, ast.Name) else None
    return (holder, target.id) if holder is not None and isinstance(target, ast.Name) else None


def _is_read_elsewhere(name: str, module: Module, texts: Texts) -> bool:
    """Whether some other file names a variable of a module and the module, as one that imports it must."""
    return module.is_package or texts.mention_together(name, import_name(module.path), module.text)


def _reads(variable: Variable, module: Module) -> Iterator[ast.Name]:
    scope, name = variable
    for node in module.table.references:
        if isinstance(node, ast.Name) and node.id == name and module.table.scope_of[node].lookup(name) is scope:
            yield node


def _is_handed_to_jax(chain: Chain, module: Module, resolver: Resolver) -> bool:
    """Whether a sharding goes no further than into a function of JAX, alone or among others."""
    parents, node = module.table.parents, chain.whole
    if chain.layout is not None and chain.layout.split is None:
        return False
    parent = parents.get(node)
    if isinstance(parent, ast.Attribute) and parent.attr in SAME:
        return True
    while isinstance(parent, ast.Tuple | ast.List | ast.Dict | ast.keyword | ast.Starred):
        parent = parents.get(parent)
    if not isinstance(parent, ast.Call) or not isinstance(parent.func, ast.Name | ast.Attribute):
        return False
    name = denotes(parent.func, resolver, module) or ""
    return name.startswith("jax.") or name == "print"


def _shape(node: ast.expr, module: Module, resolver: Resolver) -> list[int | None] | None:
    """The shape of an array or list of devices; None for a length that is out of sight, or for all of it."""
    if isinstance(node, ast.List | ast.ListComp):
        return [None]
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        inner = _shape(node.value, module, resolver)
        return [None, *inner[1:]] if inner is not None else None
    if isinstance(node, ast.Name):
        bindings = resolver.bindings(node.id, module.table.scope_of[node])
        value = bindings[0].value if len(bindings) == 1 and not bindings[0].path else None
        return _shape(value, module, resolver) if value is not None else None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
        return None
    name = denotes(node.func, resolver, module) or ""
    if name in ("jax.devices", "jax.local_devices"):
        return [None]
    if name in ("numpy.array", "numpy.asarray") and len(node.args) == 1:
        return _shape(node.args[0], module, resolver)
    if name == "jax.experimental.mesh_utils.create_device_mesh" and node.args and isinstance(node.args[0], ast.Tuple):
        return [None] * len(node.args[0].elts)
    return None
