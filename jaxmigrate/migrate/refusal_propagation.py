"""A map that is left leaves the maps that it holds as well, and one that is left inside leaves those around it.

A map inside a map can only be replaced together with it. Both may be mapped through names of the project's own, whose
reference then stands for all that goes through the name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from jaxmigrate.migrate.decide import Decision, Refusal
from jaxmigrate.migrate.nesting import maps_given, maps_inside
from jaxmigrate.program.kept import KEPT
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite, ReferenceNode

Root = Callable[[MappedSite], ReferenceNode | None]


def leave_together(
    decisions: Mapping[Module, list[Decision]],
    sites: Mapping[Module, Sequence[MappedSite]],
    resolver: Resolver,
    root: Root,
) -> dict[Module, list[Decision]]:
    """The decisions with each refusal carried to the maps around and inside of what is refused."""
    groups = [group for found in sites.values() for group in _groups(found, sites, resolver, root)]
    refused = {d.reference.node: d.refusal for ds in decisions.values() for d in ds}
    for _ in groups:  # as many rounds as a refusal can have steps to go
        for outer, inner, through in groups:
            first = refused.get(outer) or next((refused[n] for n in inner if refused.get(n)), through)
            if first is not None:
                refused[outer] = refused.get(outer) or first
                refused |= {n: refused[n] or _inside(first) for n in inner if n in refused}
    return {m: [replace(d, refusal=refused[d.reference.node]) for d in ds] for m, ds in decisions.items()}


def _inside(refusal: Refusal) -> Refusal:
    reason = "is called inside a mapped function that is not rewritten; see the reason there"
    code = KEPT if refusal.code == KEPT else "JM405"
    return refusal if refusal.reason == reason else Refusal(code, reason)


def _groups(
    found: Sequence[MappedSite], sites: Mapping[Module, Sequence[MappedSite]], resolver: Resolver, root: Root
) -> Iterator[tuple[ReferenceNode, list[ReferenceNode], Refusal | None]]:
    """The reference of each map around others, theirs, and the refusal of one that goes through a name."""
    for site in found:
        given = maps_given(site, resolver)
        maps = [*maps_inside(site, resolver), *given]
        outer = root(site) if maps else None
        if outer is None:
            continue
        nodes: set[ast.expr] = {m.node for m in maps}
        modules = {m.module for m in maps}
        inner = [root(one) for module in modules for one in sites.get(module, ()) if one.node in nodes]
        through = None
        if site.reference is None or given:
            where = f"{maps[0].module.path.name}:{maps[0].node.lineno}"
            through = Refusal(
                "JM405",
                f"maps a function that calls pmap ({where}) by an alias or a wrapper of pmap; "
                "call jax.pmap by its name in both places and run fix again",
            )
        yield outer, [node for node in inner if node is not None], through
