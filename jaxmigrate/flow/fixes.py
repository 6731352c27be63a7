"""What rules offer to change: typed operations on nodes, as the plain data that a finding carries.

They are the operations that a migration is planned with. Those of one offer are on nodes of one file, so that a file is
mended wholly or not at all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, cast

from jaxmigrate.findings.fixes import NO_FIX, Edit, Fix, Span
from jaxmigrate.program.modules import Module
from jaxmigrate.program.operations import (
    ITSELF,
    Code,
    DropStatement,
    Import,
    Operation,
    Redecorate,
    Replace,
    SetKeyword,
    code,
)


class Offer(NamedTuple):
    """What would mend something, in a few words, and the operations on a module that do."""

    title: str
    module: Module
    operations: tuple[Operation, ...]


def described(offer: Offer | None, names: Mapping[Path, str]) -> Fix:
    """An offer as plain data; none for a file that was not named."""
    if offer is None or offer.module.path not in names:
        return NO_FIX
    edits = tuple(_edit(operation, offer.module) for operation in offer.operations)
    return Fix(offer.title, names[offer.module.path], edits)


def _edit(operation: Operation, module: Module) -> Edit:
    match operation:
        case Replace():
            return Edit(
                "replace", span(operation.node, module), operation.code.text, "", _parts(operation.code, module)
            )
        case SetKeyword():
            assert not operation.code.parts
            return Edit("set-keyword", span(operation.call, module), operation.code.text, operation.name)
        case DropStatement():
            return Edit("drop-statement", span(operation.statement, module))
        case Redecorate():
            lines = "\n".join(one.text for one in operation.decorators)
            parts = ((ITSELF, span(operation.decorator, module)),)
            return Edit("decorate", span(operation.function, module), lines, "", parts)
        case Import(uses=(ast.expr() as use,)):
            return Edit("import", span(use, module), operation.statement)
    raise TypeError(f"no fix has a {type(operation).__name__}")


def _parts(new: Code, module: Module) -> tuple[tuple[str, Span], ...]:
    return tuple((name, span(cast("ast.expr", part), module)) for name, part in new.parts.items())


def span(node: ast.expr | ast.stmt, module: Module) -> Span:
    """Where a node stands."""
    lines = module.lines
    last = node.end_lineno or node.lineno
    end = lines[last - 1].encode()[: node.end_col_offset or 0].decode(errors="replace")
    return Span(type(node).__name__, node.lineno, module.column(node), last, len(end) + 1)


def spelled(dotted: str, use: ast.expr, module: Module) -> tuple[str, tuple[Import, ...]]:
    """What a file calls a function of a library at some place, and the import that it needs for that.

    A name that something else at the place hides is not used.
    """
    package, _, last = dotted.rpartition(".")
    found = dict(_imported(module))
    name, owner = found.get(dotted), _longest(package, found)
    if name is not None and _is_plain(name, use, module):
        return name, ()
    if owner is not None and _is_plain(found[owner], use, module) and not _has_siblings(package, module):
        return f"{found[owner]}{dotted.removeprefix(owner)}", ()
    if last not in module.table.named and last not in module.table.root.bindings:
        return last, (Import(package, last, "", (use,)),)
    return "", ()


def _imported(module: Module) -> Iterator[tuple[str, str]]:
    """Each thing that the module's own imports bind, in full, and the name that they bind it to."""
    for name, bindings in module.table.root.bindings.items():
        if len(bindings) != 1 or not isinstance(bindings[0].node, ast.alias):
            continue
        alias, statement = bindings[0].node, module.table.parents.get(bindings[0].node)
        if bindings[0].kind == "import":
            yield (alias.name, name) if alias.asname else (name, name)
        elif isinstance(statement, ast.ImportFrom) and not statement.level:
            yield f"{statement.module}.{alias.name}", name


def _longest(package: str, found: Mapping[str, str]) -> str | None:
    """The package, or one that it is in, that the file has a name for."""
    while package and package not in found:
        package = package.rpartition(".")[0]
    return package or None


def _has_siblings(package: str, module: Module) -> bool:
    """Whether the file imports names from a package, beside which another one belongs."""
    statements = (n for n in module.tree.body if isinstance(n, ast.ImportFrom) and not n.level)
    return package != "jax" and any(one.module == package for one in statements)


def _is_plain(name: str, use: ast.expr, module: Module) -> bool:
    """Whether a name is at some place what the module's imports bind."""
    scope = module.table.scope_of.get(use)
    return scope is not None and scope.lookup(name) is module.table.root


def replaced(node: ast.expr, text: str, **parts: ast.expr) -> Replace:
    """New code in the place of an expression."""
    return Replace(node, code(text, **parts))
