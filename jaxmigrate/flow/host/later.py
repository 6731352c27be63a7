"""Where names are read that are replicated further down: what they hold there has no axis of devices yet."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.flow.later_reads import block_of, stores
from jaxmigrate.flow.layout.kinds import REPLICATES
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import External

WORDS = frozenset(name.rpartition(".")[2] for name in REPLICATES)


def read_before_spreading(module: Module, resolver: Resolver) -> Iterator[ast.Name]:
    """The reads, in the block of `x = replicate(x)`, of what is replicated there."""
    parents = module.table.parents
    for call in module.table.calls if any(word in module.text for word in WORDS) else ():
        statement, given = parents.get(call), call.args[0] if len(call.args) == 1 else None
        if not isinstance(statement, ast.Assign) or not isinstance(given, ast.Name):
            continue
        target = statement.targets[0]
        if not isinstance(target, ast.Name) or target.id != given.id:
            continue
        callee = resolver.value(call.func, module)
        block = block_of(statement, parents.get(statement))
        if block is None or not isinstance(callee, External) or callee.name not in REPLICATES:
            continue
        for before in reversed(block[: block.index(statement)]):
            if stores(before, given.id):
                break
            yield from (n for n in ast.walk(before) if isinstance(n, ast.Name) and n.id == given.id)
