"""Sites that stay because somebody asks for it: by a comment, one by one, or after a verification."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from jaxmigrate.migrate.decide import Decision, Refusal
from jaxmigrate.migrate.unhandled import WITHHELD
from jaxmigrate.migrate.wanted import ALL, DECLINED, Place, Wanted
from jaxmigrate.program.kept import KEPT, asked_at, lines_of_reference, lines_of_site
from jaxmigrate.program.modules import Module
from jaxmigrate.program.sites import MappedSite, ReferenceNode

Root = Callable[[MappedSite], ReferenceNode | None]
NOTHING: Mapping[Module, Sequence[MappedSite]] = MappingProxyType({})


def leave_kept(
    decisions: Mapping[Module, list[Decision]],
    sites: Mapping[Module, Sequence[MappedSite]],
    root: Root,
    wanted: Wanted = ALL,
    outside: Mapping[Module, Sequence[MappedSite]] = NOTHING,
) -> dict[Module, list[Decision]]:
    """The decisions with a refusal for each reference that a comment keeps, itself or by a site that goes through it.

    All that goes through the name of such a reference stays with it, and so does a map that it maps in place. Where a
    verification speaks against a site that goes by a name, of a file in question or `outside`, the name keeps its
    meaning.
    """
    stays = _names_that_stay(decisions, {**outside, **sites}, root, wanted)
    kept = {d.reference.node: why for m, own in decisions.items() for d in own if (why := _of_reference(d, m, wanted))}
    for module, own_sites in sites.items():
        for site in own_sites:
            node = root(site)
            why = _of_site(site, node, module, wanted) if node is not None else None
            if node is not None and why is not None:
                kept.setdefault(node, why)
    kept = {node: why for node, why in kept.items() if node not in stays or why.code != WITHHELD}
    found = {module: _left(own, kept) for module, own in decisions.items()} if kept else dict(decisions)
    if not stays:
        return found
    return {m: [replace(d, stays=stays.get(d.reference.node)) for d in ds] for m, ds in found.items()}


def _of_reference(decision: Decision, module: Module, wanted: Wanted) -> Refusal | None:
    """Why a reference stays, where somebody asks for that at its own place."""
    node = decision.reference.node
    line = asked_at(module.text, lines_of_reference(decision.reference))
    if line:
        return Refusal(KEPT, f"is kept by the comment on line {line}")
    if wanted.declines_site(module.path, place_of(node, module)):
        return Refusal(KEPT, DECLINED)
    held = wanted.held_at(module.path, place_of(node, module))
    return Refusal(WITHHELD, held) if held else None


def _of_site(site: MappedSite, node: ReferenceNode, module: Module, wanted: Wanted) -> Refusal | None:
    """Why the reference of a site stays, where somebody asks for that at the place of the site."""
    line = asked_at(module.text, lines_of_site(site))
    if line:
        return Refusal(KEPT, f"is kept, as the comment at {module.path.name}:{line} asks of a map that uses it")
    if wanted.declines_site(module.path, place_of(site.node, module)):
        if site.reference is not None and site.reference.node is node:
            return Refusal(KEPT, DECLINED)
        return Refusal(KEPT, f"is used by the map at {module.path.name}:{site.node.lineno}, which {DECLINED}")
    held = wanted.held_at(module.path, place_of(site.node, module))
    return Refusal(WITHHELD, held) if held else None


def _names_that_stay(
    decisions: Mapping[Module, Sequence[Decision]],
    sites: Mapping[Module, Sequence[MappedSite]],
    root: Root,
    wanted: Wanted,
) -> dict[ReferenceNode, Refusal]:
    """The references of which a verification speaks against sites that go by a name of them, or against the name.

    None that map maps or are mapped by others, which can only stay or go together.
    """
    if not wanted.held:
        return {}
    told: dict[ReferenceNode, str] = {}
    for site in (site for own in sites.values() for site in own if site.reference is None):
        node = root(site)
        if node is not None and wanted.held_at(site.module.path, place_of(site.node, site.module)):
            told.setdefault(node, f"the site at {site.module.path.name}:{site.node.lineno} goes by it, too, and")
    found: dict[ReferenceNode, Refusal] = {}
    for module, own in decisions.items():
        for decision in (d for d in own if d.is_plain and not d.around and not d.sites):
            node = decision.reference.node
            if wanted.held_at(module.path, place_of(node, module)):
                told.setdefault(node, "what else is mapped by it")
            if node in told:
                reason = f"goes by a name of a map that stays, because {told[node]} did not verify"
                found[node] = Refusal(WITHHELD, reason)
    return found


def place_of(node: ast.expr, module: Module) -> Place:
    """Where an expression begins: line from 1, column in characters from 1."""
    line = module.lines[node.lineno - 1].encode()
    return node.lineno, len(line[: node.col_offset].decode()) + 1


def _left(decisions: Sequence[Decision], kept: Mapping[ReferenceNode, Refusal]) -> list[Decision]:
    by_call: dict[ast.Call | None, Refusal | None]
    by_call = {d.reference.call: kept.get(d.reference.node) for d in decisions if d.reference.call is not None}
    around: dict[ast.Call | None, Refusal | None]
    around = {d.nested.call: kept.get(d.reference.node) for d in decisions if d.nested is not None}

    def refusal(decision: Decision) -> Refusal | None:
        own = kept.get(decision.reference.node)
        inside = by_call.get(decision.nested.call) if decision.nested is not None else None
        return own or inside or around.get(decision.reference.call)

    return [replace(d, refusal=refusal(d) or d.refusal) for d in decisions]
