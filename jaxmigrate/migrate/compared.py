"""Comparisons with pmap itself, `if transform == jax.pmap`, which must come out as before.

Both sides are replaced by the one function of their file, or neither is. What another file that runs in the same
process compares would be another function.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from jaxmigrate.migrate.decide import Decision, Refusal
from jaxmigrate.program.modules import Module
from jaxmigrate.program.sites import Reference


class _Graph(Protocol):
    """What says which files run together."""

    def above(self, paths: Collection[Path]) -> set[Path]:
        """Those that import some, these included."""

    def beneath(self, paths: Collection[Path]) -> set[Path]:
        """Those that some import, these included."""


def leave_compared(decisions: Mapping[Module, list[Decision]], graph: _Graph) -> dict[Module, list[Decision]]:
    """The decisions with a refusal for each comparison with pmap and what it may be about, unless one file has both."""
    values = {m: [d for d in found if d.reference.use == "value"] for m, found in decisions.items()}
    comparing = [m for m, found in values.items() if any(_is_compared(d.reference) for d in found)]
    refused: dict[ast.expr, Refusal] = {}
    for module in comparing:
        compared = [d for d in values[module] if _is_compared(d.reference)]
        passed = [d for m in decisions for d in values[m] if d not in compared and _meet(m, module, graph)]
        others = [d for d in passed if d.reference.module is not module]
        if not passed or others or any(d.refusal is not None for d in (*compared, *passed)):
            line = compared[0].reference.node.lineno
            for d in compared:
                refused[d.reference.node] = Refusal(
                    "JM404", "compares a function with jax.pmap; compare with its replacement, or drop the test"
                )
            for d in passed:
                why = f"{module.path.name}:{line} compares such a function with jax.pmap; drop that and run fix again"
                refused.setdefault(d.reference.node, Refusal("JM404", why))
    if not refused:
        return dict(decisions)
    return {
        m: [replace(d, refusal=d.refusal or refused.get(d.reference.node)) for d in found]
        for m, found in decisions.items()
    }


def _is_compared(reference: Reference) -> bool:
    """Whether pmap itself is compared: by an operator, as one of several or alone, in a `case`, or as a key."""
    parents = reference.module.table.parents
    node: ast.AST | None = parents.get(reference.typed)
    while isinstance(node, ast.Tuple | ast.List | ast.Set):
        node = parents.get(node)
    is_key = isinstance(node, ast.Dict) and reference.typed in node.keys
    return is_key or isinstance(node, ast.Compare | ast.MatchValue)


def _meet(one: Module, other: Module, graph: _Graph) -> bool:
    """Whether what one file has of pmap may come to another: tests that nothing imports are run, but do not meet."""
    if one is other:
        return True
    first, second = graph.above([one.path]), graph.above([other.path])
    if other.path in first or one.path in second:
        return True
    return len(first) > 1 and len(second) > 1
