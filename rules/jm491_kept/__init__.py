"""JM491: kept by a comment. Reported by `jaxmigrate fix`; to lint it says that such a comment is of use."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.program.kept import KEPT, asked_at, lines_of_reference, lines_of_site
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.old_uses import unguarded_uses
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import denotes, mapped_sites, references

CODE = KEPT
OLD_BY_ARGUMENTS = named("old-arguments")


def check(facts: Facts) -> Iterator[Finding]:
    """What `fix` leaves because a comment asks for it, at that comment, which silences this very finding."""
    for module in facts.modules:
        name = facts.names.get(module.path)
        for line, code in sorted(_kept(module, facts.resolver)) if name and "jaxmigrate:" in module.text else ():
            yield Finding(name or "", line, 1, code, "this comment keeps fix from rewriting the line", line, 1)


def _kept(module: Module, resolver: Resolver) -> set[tuple[int, str]]:
    """The lines of the comments that keep something, each with the code that they are about."""
    found = {(asked_at(module.text, lines_of_reference(one)), KEPT) for one in references(module, resolver)}
    found |= {(asked_at(module.text, lines_of_site(site)), KEPT) for site in mapped_sites(module, resolver)}
    for use in unguarded_uses(module, resolver).references:
        line = asked_at(module.text, (use.node.lineno, use.node.end_lineno or 0), use.row.code)
        found |= {(line, KEPT), (line, use.row.code)}
    for call in module.table.calls:
        line = asked_at(module.text, (call.lineno, call.end_lineno or 0))
        if line and isinstance(call.func, ast.Name | ast.Attribute):
            found |= {(line, KEPT)} if denotes(call.func, resolver, module) in OLD_BY_ARGUMENTS else set()
    return {(line, code) for line, code in found if line and asked_at(module.text, (line,), code, also="")}
