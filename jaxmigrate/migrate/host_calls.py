"""Maps that call the host, which `jax.jit` compiles for arrays of one mesh alone.

Where a body reaches `pure_callback` or `io_callback`, and an argument comes from a map over an axis of another name,
`jit(shard_map)` raises "mesh should be the same across the entire program"; pmap lays out its arguments itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from jaxmigrate.program.mentions import defined, mentioned, reached
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite, axis_of, is_decorator, mapped_sites
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Constant

CALLS = frozenset(
    {"custom_partitioning", "host_callback", "hcb", "inspect_array_sharding", "io_callback", "pure_callback"}
)
MESHES = frozenset({"Mesh", "make_mesh"})


def lays_out_arguments(site: MappedSite, resolver: Resolver) -> bool:
    """Whether a map may reach a call of the host, by the names that its function mentions, beside other axes."""
    if not has_host_calls(resolver):
        return False
    found = site.mapped.expression if site.mapped is not None else None
    unseen = isinstance(found, ast.Name | ast.Attribute) and last_name(found) not in _defined(resolver)
    return unseen or not CALLS.isdisjoint(reached(_started(site), _defined(resolver)))


@once
def has_host_calls(resolver: Resolver) -> bool:
    """Whether a program calls the host, and arrays in it may lie on meshes whose axes have different names."""
    program = resolver.project.program
    if not any(word in module.text for module in program for word in CALLS):
        return False
    axes = {axis_of(site, resolver) for module in resolver.project.named for site in mapped_sites(module, resolver)}
    named = axes - {None, Constant(None)}  # a map of no name takes that of the others
    return len(named) > 1 or any(not MESHES.isdisjoint(module.table.named) for module in program)


def _started(site: MappedSite) -> Iterable[str]:
    if is_decorator(site.node, site.module):
        function = site.module.table.parents[site.node]
        return [function.name] if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) else []
    found = site.mapped.expression if site.mapped is not None else None
    return mentioned(found) if found is not None else []


@once
def _defined(resolver: Resolver) -> dict[str, set[str]]:
    """By name, what the definitions of it in a program mention."""
    return defined(resolver.project.program)
