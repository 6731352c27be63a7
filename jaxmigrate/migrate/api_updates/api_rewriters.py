"""The rows of the table whose calls change too, each with what it takes to change them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jaxmigrate.migrate.api_updates import arrays, callbacks, equinox, indexed, pjits, positional, shard_maps, xmaps
from jaxmigrate.migrate.api_updates.batching import Batches
from jaxmigrate.migrate.api_updates.meshes import contexts_left
from jaxmigrate.migrate.api_updates.rewrite_context import RewriteContext
from jaxmigrate.migrate.api_updates.texts import Texts
from jaxmigrate.migrate.wanted import Wanted
from jaxmigrate.program.modules import Module
from jaxmigrate.program.old_names import Era, Release
from jaxmigrate.program.old_uses import OldReference, Uses
from jaxmigrate.program.operations import Code
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite, Reference, ReferenceNode, mapped_sites, references
from jaxmigrate.program.values import External, Partial


def by_its_row(desk: RewriteContext, use: OldReference) -> str | None:
    """Source for the replacement that the table names."""
    return desk.name_of(use.row.replacement, use.node, use.node)


@dataclass(frozen=True, slots=True)
class Subject:
    """How the uses of one old name are rewritten.

    Attributes:
        reason: Why a use is left; empty where it is rewritten.
        apply: Edits what stands around the name.
        name: What takes the place of the name itself; None where it cannot be imported, empty where `apply` does all.
        keeps_name: Whether the new thing is imported under the local name of the old one, since all uses change.
    """

    reason: Callable[[OldReference], str]
    apply: Callable[[RewriteContext, OldReference], None]
    name: Callable[[RewriteContext, OldReference], str | Code | None] = by_its_row
    keeps_name: bool = False


def subjects(
    found: Mapping[Module, Uses], resolver: Resolver, era: Era, target: Release | None, texts: Texts, wanted: Wanted
) -> Mapping[str, Subject]:
    """The subjects by the old name that each is for, in modules with the uses of such names."""
    modules = list(found)
    stays = contexts_left(modules, resolver, target, wanted, texts)
    used = {one.row.name for uses in found.values() for one in uses.imports}
    used |= {one.row.name for uses in found.values() for one in uses.references}
    maps = modules if any(shard_maps.OLD.startswith(name) for name in used) else []  # none is asked for otherwise
    pjit = Subject(lambda use: pjits.reason(use, resolver, texts, stays), pjits.apply)
    put = Subject(_always, arrays.put_keys, arrays.put_name)
    batches = Batches(texts)
    call_back = Subject(
        lambda use: callbacks.reason(use, batches),
        callbacks.apply,
        lambda desk, use: callbacks.name(desk, use, batches),
    )
    return {
        shard_maps.OLD: _shard_map(maps, resolver, era, texts),
        **dict.fromkeys(pjits.NAMES, pjit),
        **dict.fromkeys(arrays.PUT, put),
        xmaps.NAME: Subject(lambda use: xmaps.reason(use, stays), xmaps.apply, jit_name),
        **dict.fromkeys(callbacks.NAMES, call_back),
        callbacks.BARRIER: Subject(_always, callbacks.wait),
        equinox.NAME: Subject(lambda use: equinox.reason(use, resolver, texts), _nothing_more, equinox.name),
        positional.NAME: Subject(
            lambda use: positional.reason(use, resolver, texts),
            lambda desk, use: positional.apply(desk, use, texts),
            sharding_name,
        ),
        "jax.core.axis_frame": Subject(arrays.size_reason, arrays.read_size),
        **dict.fromkeys(indexed.UPDATES, Subject(indexed.reason, indexed.update, indexed.update_name)),
        indexed.INDEX: Subject(_always, _nothing_more, indexed.index_name),
        "jax.lax.tie_in": Subject(indexed.tie_reason, indexed.untie, indexed.no_name),
        "jax.numpy.NINF": Subject(_always, _nothing_more, indexed.negative_infinity),
        "jax.lax.pvary": Subject(arrays.varying_reason, arrays.make_varying),
    }


def jit_name(desk: RewriteContext, use: OldReference) -> str | None:
    """The `jit` that stands around what is mapped, as a map always ran compiled."""
    return desk.name_of("jax.jit", use.node)


def sharding_name(desk: RewriteContext, use: OldReference) -> str | None:
    """`NamedSharding` by its own name, as it stands beside `Mesh` and `PartitionSpec`."""
    return desk.imported_name("jax.sharding.NamedSharding", use.node)


def _always(_: OldReference) -> str:
    return ""


def _nothing_more(_desk: RewriteContext, _use: OldReference) -> None:
    """The name is all that changes."""


def _shard_map(modules: Sequence[Module], resolver: Resolver, era: Era, texts: Texts) -> Subject:
    found: dict[ReferenceNode, tuple[Reference, list[MappedSite], shard_maps.Plan]] = {}
    sites = [site for module in modules for site in mapped_sites(module, resolver, shard_maps.OLD)]
    by_partial: dict[int, list[MappedSite]] = defaultdict(list)
    for site in sites:
        for partial in _partials(site, resolver):
            by_partial[id(partial.node)].append(site)
    for reference in (r for module in modules for r in references(module, resolver, shard_maps.OLD)):
        own = [site for site in sites if site.reference is not None and site.reference.node is reference.node]
        through = by_partial[id(reference.call)] if reference.use == "partial" else []
        both = list({id(site.node): site for site in [*own, *through]}.values())
        found[reference.node] = (reference, both, shard_maps.plan(reference, both, resolver, era, texts))

    def reason(use: OldReference) -> str:
        known = found.get(use.node)
        return known[2].reason if known is not None else "is reached in a way that fix cannot follow"

    def apply(desk: RewriteContext, use: OldReference) -> None:
        shard_maps.apply(desk, *found[use.node])

    return Subject(reason, apply, keeps_name=all(not plan.reason for _, _, plan in found.values()))


def _partials(site: MappedSite, resolver: Resolver) -> list[Partial]:
    values = resolver.values(site.callee, site.module)
    return [v for v in values if isinstance(v, Partial) and v.callee == External(shard_maps.OLD)]
