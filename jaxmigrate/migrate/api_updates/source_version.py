"""Which JAX a project was written for, where that decides what its code meant: before 0.6, or since."""

from __future__ import annotations

import re
from collections.abc import Iterable

from jaxmigrate.program.modules import Module
from jaxmigrate.program.old_names import TURN, Era, release
from jaxmigrate.program.old_uses import unguarded_uses
from jaxmigrate.program.resolve import Resolver

# Names that fix itself writes, such as check_vma, say nothing: a second run must not read them as evidence.
SINCE = re.compile(r"\blax\.pvary\b|\bjax\.(?:typeof|P)\b|^[ \t]*from jax import [^\n]*\b(?:typeof|P)\b", re.MULTILINE)


def era_of(modules: Iterable[Module], resolver: Resolver, required: Era) -> Era:
    """What a project was written for: as it requires, else as the names tell that only one of both has."""
    if required:
        return required
    modules = list(modules)
    if any(_runs_before_only(module, resolver) for module in modules):
        return "old"
    return "new" if any(SINCE.search(module.text) for module in modules) else ""


def _runs_before_only(module: Module, resolver: Resolver) -> bool:
    """Whether a module uses, with nothing to catch the failure, a name that no release since 0.6 has."""
    rows = (use.row for uses in unguarded_uses(module, resolver) for use in uses)
    return any(row.removed and release(row.removed) <= TURN for row in rows)
