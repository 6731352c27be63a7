"""What the language server offers at a place in a document: what mends or silences a finding, and the rewrite."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from lsprotocol import types as lsp

from jaxmigrate.commands.server.changes import Change, ignored, mended, rewrite
from jaxmigrate.commands.server.document import Document
from jaxmigrate.commands.server.opened import FIX_ALL, Opened
from jaxmigrate.commands.server.problems import problems
from jaxmigrate.config import ConfigError
from jaxmigrate.findings import Finding
from jaxmigrate.sources import SourceError

MIGRATES = ("pmap", "jax.", "shard_map")
TITLE = "Rewrite pmap and old names in this file (jaxmigrate fix)"


def offers(opened: Opened, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """The actions of the kinds that the editor asks for."""
    wanted = params.context.only
    found: list[lsp.CodeAction] = []
    try:
        if _is_wanted("quickfix", wanted):
            found += _for_findings(opened, params)
        found += _to_fix(opened, params)
    except (ConfigError, SourceError) as error:
        print(f"jaxmigrate: {error}", file=sys.stderr)
    return found


def _is_wanted(kind: str, wanted: Sequence[lsp.CodeActionKind | str] | None) -> bool:
    """Whether an editor that asks for some kinds asks for this one, or for one that it belongs to."""
    return not wanted or any(kind == str(getattr(one, "value", one)) or kind.startswith(f"{one}.") for one in wanted)


def _for_findings(opened: Opened, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """What mends each finding at the place, where there is one right answer, and a comment that silences it."""

    def found_in(document: Document) -> list[Finding]:
        return problems(document, opened.workspace.neighbours, again=False)[0]

    offered = []
    for finding in opened.found()[0]:
        uri, shown = opened.of_finding(finding)
        if uri != params.text_document.uri or not _meet(shown.range, params.range):
            continue
        if (changes := mended(opened.document, finding.fix)) and all(one.cell in opened.parts for one in changes):
            offered.append(_quick(f"Fix: {finding.fix.title}", opened, shown, changes, is_preferred=True))
        change = ignored(opened.document, finding, found_in)
        if change is not None:
            offered.append(_quick(f"Ignore {finding.code} on this line", opened, shown, (change,)))
    return offered


def _quick(
    title: str, opened: Opened, shown: lsp.Diagnostic, found: Iterable[Change], *, is_preferred: bool = False
) -> lsp.CodeAction:
    edit = _edit(opened, found)
    preferred = True if is_preferred else None
    return lsp.CodeAction(
        title, kind=lsp.CodeActionKind.QuickFix, diagnostics=[shown], edit=edit, is_preferred=preferred
    )


def _to_fix(opened: Opened, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """The rewrite of the document, for a map under the cursor, and for an editor that wants all fixed."""
    all_of_it = _is_wanted(FIX_ALL, params.context.only) and params.context.only is not None
    here = _is_wanted("quickfix", params.context.only)
    if not (all_of_it or here) or not any(word in opened.document.source.text for word in MIGRATES):
        return []
    planned = rewrite(opened.document)
    if not planned.changes or any(change.cell not in opened.parts for change in planned.changes):
        return []
    edit = _edit(opened, planned.changes)
    offered = []
    if all_of_it:
        offered.append(lsp.CodeAction(TITLE, kind=FIX_ALL, edit=edit))
    places = [(site.cell, site.line) for site in planned.sites if site.status == "rewritten"]
    places += [(change.cell, change.first + 1) for change in planned.changes]
    if here and any(
        opened.parts[cell].uri == params.text_document.uri
        and params.range.start.line <= line - 1 <= params.range.end.line
        for cell, line in places
    ):
        offered.append(lsp.CodeAction(TITLE, kind=lsp.CodeActionKind.QuickFix, edit=edit))
    return offered


def _meet(one: lsp.Range, other: lsp.Range) -> bool:
    return one.start.line <= other.end.line and other.start.line <= one.end.line


def _edit(opened: Opened, found: Iterable[Change]) -> lsp.WorkspaceEdit:
    edits: dict[str, list[lsp.TextEdit]] = {}
    for change in found:
        part = opened.parts[change.cell]
        lines = part.lines
        end = lsp.Position(change.end, 0)
        if change.end == len(lines) and lines and not lines[-1].endswith("\n"):
            end = lsp.Position(change.end - 1, part.position_codec.client_num_units(lines[-1]))
        edit = lsp.TextEdit(lsp.Range(lsp.Position(change.first, 0), end), change.text)
        edits.setdefault(part.uri, []).append(edit)
    return lsp.WorkspaceEdit(changes=dict(edits))
