"""What the rules about old names of JAX report: each use that nothing guards, with what the table says of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import cast

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.program.jax_names import newest_jax
from jaxmigrate.program.mesh_contexts import CONTEXT, mesh_contexts
from jaxmigrate.program.old_names import old_names
from jaxmigrate.program.old_uses import is_guarded, unguarded_uses
from jaxmigrate.program.unknown_names import unknown_names


def old_name_findings(facts: Facts, code: str) -> Iterator[Finding]:
    """A finding for each import of, and each expression for, an old name that a rule is about."""
    for module in facts.modules:
        imports, references = unguarded_uses(module, facts.resolver)
        bound = {use.local for use in imports}
        for one in imports:
            if one.row.code == code and one.row.holds_for(facts.target):
                yield from facts.finding(module, cast("ast.expr", one.alias), code, one.row.told)
        for use in references:
            known = isinstance(use.node, ast.Name) and use.node.id in bound  # its import is reported
            if use.row.code == code and use.row.holds_for(facts.target) and not known:
                yield from facts.finding(module, use.node, code, use.row.told)


def unknown_findings(facts: Facts, code: str) -> Iterator[Finding]:
    """A finding for each name that the newest JAX lacks and the table does not have."""
    for module in facts.modules:
        for use in unknown_names(module):
            yield from facts.finding(module, cast("ast.expr", use.node), code, f"jax {newest_jax()} has no {use.name}")


def context_findings(facts: Facts) -> Iterator[Finding]:
    """A finding for each mesh that is entered by `with mesh:`."""
    row = old_names()[CONTEXT]
    for module in facts.modules if row.holds_for(facts.target) else ():
        for context in mesh_contexts(module, facts.resolver):
            if not is_guarded(context.statement, module):
                yield from facts.finding(module, context.mesh, row.code, row.told)
