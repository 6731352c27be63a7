"""Arrays and axes: what put arrays on devices by old ways, marked them as varying, bounded them, or sized an axis."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.migrate.api_updates.calls import (
    drop_argument,
    drop_name,
    given,
    ordered,
    rename_keyword,
    set_keyword,
)
from jaxmigrate.migrate.api_updates.rewrite_context import RewriteContext
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.narrow import says_narrow
from jaxmigrate.program.old_names import old_names
from jaxmigrate.program.old_uses import OldReference, is_guarded
from jaxmigrate.program.operations import Replace, code
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import denotes
from jaxmigrate.program.syntax import has_stars

SUM_OF_ONES = "jax.lax.psum(1)"
CLIP = "jax.numpy.clip(a_min)"
BOUNDS = {"a_min": "min", "a_max": "max"}
SPLITS = named("splits-raw")
SHARDED = "jax.device_put_sharded"
PUT = {"jax.device_put_replicated": "_put_replicated", SHARDED: "_put_sharded"}


def called(use: OldReference) -> ast.Call | None:
    """The call that a use is the callee of."""
    parent = use.module.table.parents.get(use.node)
    return parent if isinstance(parent, ast.Call) and parent.func is use.node else None


def put_name(desk: RewriteContext, use: OldReference) -> str | None:
    """The helper that takes the place of a function that put arrays on devices, written out for the file.

    Each row is made on its own device: an array of all rows on one of them would take as many times its memory.
    """
    jax = desk.name_of("jax", use.node)
    mesh = desk.imported_name("jax.sharding.Mesh", use.node)
    spec = desk.imported_name("jax.sharding.PartitionSpec", use.node)
    sharding = desk.imported_name("jax.sharding.NamedSharding", use.node)
    if jax is None or mesh is None or spec is None or sharding is None:
        return None
    if _keys_of(desk, use) is not None:
        return desk.name_of("jax.device_put", use.node, use.node)
    if use.row.name != SHARDED:
        return desk.helper(PUT[use.row.name], _put_replicated(jax, mesh, spec, sharding), use.node)
    numpy = desk.name_of("jax.numpy", use.node) if says_narrow(desk.resolver) else None
    return desk.helper(PUT[use.row.name], _put_sharded(jax, mesh, spec, sharding, numpy), use.node)


def _put_replicated(jax: str, mesh: str, spec: str, sharding: str) -> list[str]:
    return [
        "def _put_replicated(x, devices):",
        '    """Puts a copy of each array on each device, along a new leading axis."""',
        f'    mesh = {mesh}(devices, ("devices",))',
        f"    x = {jax}.device_put(x, {sharding}(mesh, {spec}()))",
        f'    expand = {jax}.shard_map(lambda x: x[None], mesh=mesh, in_specs={spec}(), out_specs={spec}("devices"))',
        f"    return {jax}.tree.map(expand, x)",
    ]


def _put_sharded(jax: str, mesh: str, spec: str, sharding: str, numpy: str | None) -> list[str]:
    """What puts slices on devices; `numpy`: in a program in which weak types matter, the name of `jax.numpy`."""
    made = f"{jax}.make_array_from_single_device_arrays"
    weak = [
        '        if getattr(rows[0], "weak_type", False):  # as of Python\'s numbers',
        f"            return {jax}.device_put({numpy}.stack(leaves), sharding)",
    ]
    return [
        "def _put_sharded(shards, devices):",
        '    """Puts one tree on each device, along a new leading axis."""',
        f'    sharding = {sharding}({mesh}(devices, ("devices",)), {spec}("devices"))',
        "",
        "    def put(*leaves):",
        "        each = zip(leaves, devices, strict=True)",
        f"        rows = [{jax}.device_put(leaf, device)[None] for leaf, device in each]",
        *(weak if numpy is not None else ()),
        f"        return {made}((len(rows), *rows[0].shape[1:]), sharding, rows)",
        "",
        f"    return {jax}.tree.map(put, *shards)",
    ]


def put_keys(desk: RewriteContext, use: OldReference) -> None:
    """Stacks keys that were split from one, which are small, and lays them out with a row on each device."""
    call = _keys_of(desk, use)
    names = ("jax.sharding.NamedSharding", "jax.sharding.Mesh", "jax.sharding.PartitionSpec")
    sharding, mesh, spec = (desk.imported_name(name, use.node) for name in names)
    numpy = desk.name_of("jax.numpy", use.node)
    if call is not None and numpy is not None:
        shards, devices = call.args
        axis = desk.quoted("devices")
        if isinstance(shards, ast.Call):
            desk.operations.append(Replace(shards, code("$keys", keys=shards.args[0])))  # without the list
        else:
            desk.operations.append(Replace(shards, code(f"{numpy}.stack($itself)")))
        desk.operations.append(Replace(devices, code(f"{sharding}({mesh}($itself, ({axis},)), {spec}({axis}))")))


def _keys_of(desk: RewriteContext, use: OldReference) -> ast.Call | None:
    """The call that puts keys on devices which all come from one split; None for anything else."""
    call = called(use)
    if use.row.name != SHARDED or call is None or call.keywords or len(call.args) != 2 or has_stars(call):
        return None
    node = call.args[0]
    if not isinstance(node, ast.Name):
        return call if _is_list_of_keys(node, desk) else None
    scope = desk.module.table.scope_of[node].lookup(node.id)
    bindings = scope.bindings[node.id] if scope is not None else ()
    values = [_assigned(binding.node, desk.module) for binding in bindings if binding.value is not call]
    return call if values and all(_splits(one, desk) or _is_list_of_keys(one, desk) for one in values) else None


def _assigned(node: ast.AST, module: Module) -> ast.expr | None:
    """What a statement assigns; of keys that it unpacks, only those under a star are a list that can be put."""
    statement = module.table.statement_of(node)
    return statement.value if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None


def _is_list_of_keys(node: ast.expr | None, desk: RewriteContext) -> bool:
    is_list = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("list", "tuple")
    return is_list and isinstance(node, ast.Call) and len(node.args) == 1 and _splits(node.args[0], desk)


def _splits(node: ast.expr | None, desk: RewriteContext) -> bool:
    """Whether an expression splits a key."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
        return False
    return denotes(node.func, desk.resolver, desk.module) in SPLITS


def size_reason(use: OldReference) -> str:
    """Why a use of `core.axis_frame` is left: it is not the size that is read."""
    call = called(use)
    parent = use.module.table.parents.get(call) if call is not None else None
    reads = isinstance(parent, ast.Attribute) and parent.attr == "size"
    return "" if reads and call is not None and len(call.args) == 1 and not call.keywords else use.row.told


def read_size(desk: RewriteContext, use: OldReference) -> None:
    """Drops the `.size` behind `axis_frame(name)`, which `axis_size(name)` is itself."""
    call = called(use)
    assert call is not None
    whole = use.module.table.parents[call]
    assert isinstance(whole, ast.Attribute)
    desk.operations.append(Replace(whole, code("$call", call=call)))


def varying_reason(use: OldReference) -> str:
    """Why a use of `pvary` is left: its call is not in sight."""
    call = called(use)
    return "" if call is not None and not has_stars(call) else use.row.told


def make_varying(desk: RewriteContext, use: OldReference) -> None:
    """Says what `pcast` casts to."""
    call = called(use)
    assert call is not None
    set_keyword(desk, call, "to", desk.quoted("varying"))


def may_sum_ones(text: str) -> bool:
    """Whether a text can have a sum of ones over an axis, told without parsing it."""
    return "psum" in text and re.search(r"psum(?:[\s()=x\\]|#[^\n]*\n)*1\b", text) is not None


def sums_of_ones(module: Module, resolver: Resolver) -> Iterator[ast.Call]:
    """The calls that ask for the size of an axis by summing ones over it."""
    for call in module.table.calls if may_sum_ones(module.text) else ():
        if not isinstance(call.func, ast.Name | ast.Attribute) or not _counts_devices(call):
            continue
        if denotes(call.func, resolver, module) == "jax.lax.psum" and not is_guarded(call, module):
            yield call


def name_sizes(desk: RewriteContext) -> None:
    """Asks for the size of an axis by its name, where ones are summed over it."""
    row = old_names()[SUM_OF_ONES]
    for call in sums_of_ones(desk.module, desk.resolver):
        assert isinstance(call.func, ast.Name | ast.Attribute)
        if desk.keeps(call, row):
            continue
        text = desk.name_of(row.replacement, call.func, call.func)
        if text is not None:
            desk.replace(call.func, text)
            drop_argument(desk, call, ordered(call)[0])
            desk.done(call, row)


def may_clip(text: str) -> bool:
    """Whether a text can call `clip` with the old names of its bounds, told without parsing it."""
    return "clip" in text and re.search(r"\ba_m(?:in|ax)\b", text) is not None


def old_bounds(module: Module, resolver: Resolver) -> Iterator[ast.Call]:
    """The calls of `jnp.clip` that give its bounds by their old names."""
    for call in module.table.calls if may_clip(module.text) else ():
        if not isinstance(call.func, ast.Name | ast.Attribute) or not any(k.arg in BOUNDS for k in call.keywords):
            continue
        if denotes(call.func, resolver, module) == "jax.numpy.clip" and not is_guarded(call, module):
            yield call


def name_bounds(desk: RewriteContext) -> None:
    """Gives the bounds of `jnp.clip` their names of today; what is clipped has none any more, and comes first."""
    row = old_names()[CLIP]
    for call in old_bounds(desk.module, desk.resolver):
        if desk.keeps(call, row):
            continue
        named = [k for k in call.keywords if k.arg == "a"]
        if named and ordered(call)[0] is not named[0]:
            desk.leave(call.func, row, "passes the array by keyword after the bounds; pass it first, by position")
            continue
        drop_name(desk, call, "a")
        for old, new in BOUNDS.items():
            rename_keyword(desk, call, old, new)
        desk.done(call, row)


def _counts_devices(call: ast.Call) -> bool:
    """Whether a call sums the number 1, given first, over an axis and gives nothing else."""
    if has_stars(call) or len(call.args) + len(call.keywords) != 2:
        return False
    one, axis = given(call, "x", 0), given(call, "axis_name", 1)
    is_one = isinstance(one, ast.Constant) and type(one.value) is int and one.value == 1
    return is_one and axis is not None and ordered(call)[0] in (one, *(k for k in call.keywords if k.value is one))
