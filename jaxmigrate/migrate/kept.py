"""Sites that stay because somebody asks for it: by a comment, one by one, or after a verification."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from jaxmigrate.migrate.decide import Decision, Refusal
from jaxmigrate.migrate.unhandled import WITHHELD
from jaxmigrate.migrate.wanted import ALL, DECLINED, Place, Wanted
from jaxmigrate.program.kept import KEPT, asked_at, lines_of_reference, lines_of_site
from jaxmigrate.program.modules import Module
from jaxmigrate.program.sites import MappedSite, ReferenceNode

Root = Callable[[MappedSite], ReferenceNode | None]


def leave_kept(
    decisions: Mapping[Module, list[Decision]],
    sites: Mapping[Module, Sequence[MappedSite]],
    root: Root,
    wanted: Wanted = ALL,
) -> dict[Module, list[Decision]]:
    """The decisions with a refusal for each reference that a comment keeps, itself or by a site that goes through it.

    All that goes through the name of such a reference stays with it, and so does a map that it maps in place.
    """
    kept: dict[ReferenceNode, Refusal] = {}
    for module, found in decisions.items():
        for decision in found:
            line = asked_at(module.text, lines_of_reference(decision.reference))
            if line:
                kept[decision.reference.node] = Refusal(KEPT, f"is kept by the comment on line {line}")
            elif wanted.declines_site(module.path, place_of(decision.reference.node, module)):
                kept[decision.reference.node] = Refusal(KEPT, DECLINED)
            elif held := wanted.held_at(module.path, place_of(decision.reference.node, module)):
                kept[decision.reference.node] = Refusal(WITHHELD, held)
    for module, own in sites.items():
        for site in own:
            line = asked_at(module.text, lines_of_site(site))
            declined = wanted.declines_site(module.path, place_of(site.node, module))
            held = wanted.held_at(module.path, place_of(site.node, module))
            node = root(site) if line or declined or held else None
            if node is not None and held and not (line or declined):
                kept.setdefault(node, Refusal(WITHHELD, held))
            elif node is not None and not line:
                own_one = site.reference is not None and site.reference.node is node
                where = f"{module.path.name}:{site.node.lineno}"
                kept.setdefault(
                    node, Refusal(KEPT, DECLINED if own_one else f"is used by the map at {where}, which {DECLINED}")
                )
            elif node is not None:
                where = f"{module.path.name}:{line}"
                reason = f"is kept, as the comment at {where} asks of a map that uses it"
                kept.setdefault(node, Refusal(KEPT, reason))
    return {module: _left(found, kept) for module, found in decisions.items()} if kept else dict(decisions)


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
