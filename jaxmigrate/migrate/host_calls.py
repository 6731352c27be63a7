"""Maps that call the host, which `jax.jit` compiles for arrays of one mesh alone.

Where a body reaches `pure_callback` or `io_callback`, and an argument comes from a map over an axis of another name, or
from a function that has a mesh of its own, as flax's `replicate` does, `jit(shard_map)` raises "mesh should be the same
across the entire program"; pmap lays out its arguments itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Literal

from jaxmigrate.flow.variance import loaded_beside
from jaxmigrate.program.mentions import defined, mentioned, reached
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite, axis_of, is_decorator, mapped_sites
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Constant

CALLS = frozenset(
    {"custom_partitioning", "host_callback", "hcb", "inspect_array_sharding", "io_callback", "pure_callback"}
)
MESHES = frozenset({"Mesh", "make_mesh"})
# What lays out stacked arrays on a mesh of its own, whose axis has another name
PLACERS = frozenset({"replicate", "prefetch_to_device", "device_put_replicated", "device_put_sharded"})


def lays_out_arguments(site: MappedSite, resolver: Resolver, *, stacked: bool = True) -> bool:
    """Whether a map may reach a call of the host, by the names that its function mentions, beside other axes.

    Libraries lay out only stacked arrays on meshes of their own: where no argument is one, these do not count.
    """
    if not has_host_calls(site.module, resolver, stacked=stacked):
        return False
    found = site.mapped.expression if site.mapped is not None else None
    definitions = _defined(loaded_beside(resolver, site.module), resolver)
    unseen = isinstance(found, ast.Name | ast.Attribute) and last_name(found) not in definitions
    return unseen or not CALLS.isdisjoint(reached(_started(site), definitions))


def has_host_calls(module: Module, resolver: Resolver, *, stacked: bool = True) -> bool:
    """Whether what runs with a module calls the host, and arrays there may lie on meshes whose axes differ in name."""
    found = _meshes(module, resolver)
    return found == "several" or (stacked and found == "a library's")


@once_each
def _meshes(module: Module, resolver: Resolver) -> Literal["", "a library's", "several"]:
    """Whose meshes arrays may lie on, beside that of the maps, where what runs with a module calls the host."""
    if not _calls_host(resolver.project.program):
        return ""
    beside = loaded_beside(resolver, module)
    if not _calls_host(beside):
        return ""
    mapped = (one for one in resolver.project.named if one in beside)
    axes = {axis_of(site, resolver) for one in mapped for site in mapped_sites(one, resolver)}
    named = axes - {None, Constant(None)}  # a map of no name takes that of the others
    if len(named) > 1 or any(not MESHES.isdisjoint(one.table.named) for one in beside):
        return "several"
    return "a library's" if any(not PLACERS.isdisjoint(one.table.named) for one in beside) else ""


def _calls_host(modules: Iterable[Module]) -> bool:
    return any(word in module.text for module in modules for word in CALLS)


def _started(site: MappedSite) -> Iterable[str]:
    if is_decorator(site.node, site.module):
        function = site.module.table.parents[site.node]
        return [function.name] if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) else []
    found = site.mapped.expression if site.mapped is not None else None
    return mentioned(found) if found is not None else []


@once_each
def _defined(modules: frozenset[Module], resolver: Resolver) -> dict[str, set[str]]:  # noqa: ARG001 - it keeps the answer
    """By name, what the definitions of it in some modules mention."""
    return defined(modules)
