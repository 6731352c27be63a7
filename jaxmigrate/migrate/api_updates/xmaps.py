"""`xmap` becomes `vmap` over each named axis, split over the mesh: by `shard_map`, or by the compiler.

A function without collectives runs on each device's rows: `shard_map` of a `vmap`. One that names its axes, or may,
sees a named axis whole, as xmap showed it: a `vmap` with that axis name, on arguments that are laid out as the
resources said. xmap's own deprecation advises both, and collectives over the axis need not change.
The mesh stays the one in context, as it was for `xmap`.
"""

from __future__ import annotations

import ast

from jaxmigrate.flow.operations import function_operations
from jaxmigrate.migrate.api_updates.arrays import called
from jaxmigrate.migrate.api_updates.calls import given
from jaxmigrate.migrate.api_updates.rewrite_context import RewriteContext
from jaxmigrate.migrate.api_updates.xmap_axes import Axes, Branches, Tree, axes_of, positions
from jaxmigrate.program.old_uses import OldReference
from jaxmigrate.program.operations import Code, Replace
from jaxmigrate.program.resolve import Resolver

NAME = "jax.experimental.maps.xmap"


def reason(use: OldReference, stays: bool) -> str:
    """Why a use is left; `stays` says that some mesh is still entered by `with mesh:`."""
    call = called(use)
    axes = axes_of(call) if call is not None else None
    return use.row.told if axes is None or (stays and any(axes.resources.values())) else ""


def apply(desk: RewriteContext, use: OldReference) -> None:
    """Writes the call anew around the function that it maps."""
    call = called(use)
    axes = axes_of(call) if call is not None else None
    assert call is not None
    assert axes is not None
    donated = given(call, "donate_argnums")
    text = _split(desk, use, call, axes) if any(axes.resources.values()) else _mapped(desk, call, axes, named=True)
    sizes = {f"size_{number}": size for number, size in enumerate(axes.sizes.values())}
    parts = sizes | {"callee": call.func, "function": axes.function}
    if donated is not None:
        text, parts = f"{text}, donate_argnums=$donated", parts | {"donated": donated}
    desk.operations.append(Replace(call, Code(f"$callee({text})", parts)))


def _split(desk: RewriteContext, use: OldReference, call: ast.Call, axes: Axes) -> str:
    """The arguments of the `jit` of a function whose rows are split over the mesh."""
    spec = desk.imported_name("jax.sharding.PartitionSpec", call) or "jax.sharding.PartitionSpec"
    ins, outs = (_specs(tree, axes, spec, desk) for tree in (axes.ins, axes.outs))
    if not _names_axes(use, axes, desk.resolver):
        mapped = _mapped(desk, call, axes, named=False)
        shard_map = desk.name_of("jax.shard_map", call) or "jax.shard_map"
        return f"{shard_map}({mapped}, in_specs={ins}, out_specs={outs}, check_vma=False)"
    constrain = desk.name_of("jax.lax.with_sharding_constraint", call) or "jax.lax.with_sharding_constraint"
    lines = [
        "def _laid_out(function, specs):",
        '    """Constrains the arguments of a function to specs on the current mesh."""',
        f"    return lambda *args: function(*{constrain}(args, specs))",
    ]
    mapped = _mapped(desk, call, axes, named=True)
    return f"{desk.helper('_laid_out', lines, use.node)}({mapped}, {ins}), out_shardings={outs}"


def _names_axes(use: OldReference, axes: Axes, resolver: Resolver) -> bool:
    """Whether the function may ask for an axis by its name, or sees none of an axis that is split."""
    if set(axes.sizes) & {name for name, split in axes.resources.items() if split}:
        return True
    if set(axes.names) & {axis for split in axes.resources.values() for axis in split}:
        return True  # what goes by that name must not be taken for the axis of the mesh
    if function_operations(resolver.value(axes.function, use.module), resolver) != []:
        return True
    return bool(_words_outside(use) & set(axes.names)) or any(n in use.module.text for n in ("axis_index", "axis_size"))


def _words_outside(use: OldReference) -> set[object]:
    """The constants of a module but those in calls of the name that is used: what else may name an axis."""
    calls = [c for c in use.module.table.calls if ast.unparse(c.func) == ast.unparse(use.node)]
    own = {node for call in calls for argument in (*call.args[1:], *call.keywords) for node in ast.walk(argument)}
    return {n.value for n in ast.walk(use.module.tree) if isinstance(n, ast.Constant) and n not in own}


def _mapped(desk: RewriteContext, call: ast.Call, axes: Axes, named: bool) -> str:
    """The function under a `vmap` for each named axis, the first outermost; `named`: it may use their names."""
    vmap = desk.name_of("jax.vmap", call) or "jax.vmap"
    text = "$function"
    for index in reversed(range(len(axes.names))):
        name, inside = axes.names[index], axes.names[index + 1 :]
        places = [
            f"{key}={_source(positions(tree, name, inside), desk)}"
            for key, tree in (("in_axes", axes.ins), ("out_axes", axes.outs))
        ]
        if named:
            places.append(f"axis_name={desk.quoted(name)}")
            if axes.resources.get(name):
                places.append(f"spmd_axis_name={_quoted(axes.resources[name], desk)}")
        if name in axes.sizes:
            places.append(f"axis_size=$size_{list(axes.sizes).index(name)}")
        text = f"{vmap}({text}, {', '.join(places)})"
    return text


def _source(places: object, desk: RewriteContext) -> str:
    """The source of a tree of places."""
    if isinstance(places, dict):
        return "{" + ", ".join(f"{desk.quoted(key)}: {_source(below, desk)}" for key, below in places.items()) + "}"
    if isinstance(places, tuple):
        inner = [_source(below, desk) for below in places]
        return f"({inner[0]},)" if len(inner) == 1 else f"({', '.join(inner)})"
    return repr(places)


def _specs(tree: Tree, axes: Axes, spec: str, desk: RewriteContext) -> str:
    if isinstance(tree, Branches):
        inner = [f"{desk.quoted(key)}: {_specs(below, axes, spec, desk)}" for key, below in tree.trees.items()]
        return f"{{{', '.join(inner)}}}"
    if isinstance(tree, tuple):
        inner = [_specs(below, axes, spec, desk) for below in tree]
        return f"({inner[0]},)" if len(inner) == 1 else f"({', '.join(inner)})"
    return f"{spec}({', '.join(_quoted(split, desk) if split else 'None' for split in axes.spec_axes(tree))})"


def _quoted(axes: tuple[str, ...], desk: RewriteContext) -> str:
    if len(axes) == 1:
        return desk.quoted(axes[0])
    return f"({', '.join(map(desk.quoted, axes))})"
