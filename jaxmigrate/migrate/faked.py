"""Maps that run under `chex.fake_pmap`: tests of a program that have vmap for pmap, with any number of rows.

The fake takes the place of `jax.pmap` alone. A map that is rewritten would run there on devices, of which there may be
fewer than rows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from jaxmigrate.migrate.decide import Decision, Refusal
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite, ReferenceNode
from jaxmigrate.program.values import External, Function, Partial, Value

FAKES = ("fake_pmap", "fake_pmap_and_jit")


def leave_faked(
    decisions: Mapping[Module, list[Decision]],
    sites: Mapping[Module, Sequence[MappedSite]],
    root: Mapping[ast.expr, ReferenceNode],
    modules: Iterable[Module],
    resolver: Resolver,
) -> dict[Module, list[Decision]]:
    """The decisions with a refusal for each reference of which some site is mapped under a fake of chex's.

    `root` has the reference that each site goes by, `modules` are the whole program.
    """
    faked = _faked(modules, resolver)
    refused: dict[ReferenceNode, Refusal] = {}
    for site in (site for found in sites.values() for site in found) if faked else ():
        node, place = root.get(site.node), _around(site, faked)
        if node is not None and place:
            refused.setdefault(
                node,
                Refusal(
                    "JM404",
                    f"runs under a fake of pmap ({place}), which does not replace jax.shard_map; let that test run on "
                    "simulated devices, without the fake, and run fix again",
                ),
            )
    if not refused:
        return dict(decisions)
    return {
        module: [replace(d, refusal=d.refusal or refused.get(d.reference.node)) for d in found]
        for module, found in decisions.items()
    }


def _around(site: MappedSite, faked: Mapping[ast.AST, str]) -> str:
    """Where the fake is under which a site is mapped; empty where there is none."""
    node: ast.AST | None = site.node
    while node is not None:
        if node in faked:
            return faked[node]
        node = site.module.table.parents.get(node)
    return ""


def _faked(modules: Iterable[Module], resolver: Resolver) -> dict[ast.AST, str]:
    """The statements and functions that run under a fake, with its place: those in sight of calls by name."""
    found: dict[ast.AST, str] = {}
    waiting: list[tuple[ast.AST, Module]] = []
    for module in modules:
        if any(name in module.text for name in FAKES):
            for node, call in _fakes(module, resolver):
                found.setdefault(node, f"{module.path.name}:{call.lineno}")
                waiting.append((node, module))
    while waiting:
        node, module = waiting.pop()
        for callee in _called(node, module, resolver):
            if callee.node not in found:
                found[callee.node] = found[node]
                waiting.append((callee.node, callee.module))
    return found


def _fakes(module: Module, resolver: Resolver) -> Iterator[tuple[ast.AST, ast.Call]]:
    """What runs under each fake of a module: the statement that it is entered by, else all of the file."""
    for call in module.table.calls:
        value = resolver.value(call.func, module)
        if isinstance(value, External) and value.name.startswith("chex.") and value.name.endswith(FAKES):
            item = module.table.parents.get(call)
            entered = module.table.parents.get(item) if isinstance(item, ast.withitem) else None
            yield entered if isinstance(entered, ast.With) else module.tree, call


def _called(node: ast.AST, module: Module, resolver: Resolver) -> Iterator[Function]:
    for call in ast.walk(node):
        if isinstance(call, ast.Call):
            for value in resolver.values(call.func, module):
                yield from _functions(value)


def _functions(value: Value) -> Iterator[Function]:
    if isinstance(value, Partial):
        yield from _functions(value.callee)
    elif isinstance(value, Function):
        yield value
