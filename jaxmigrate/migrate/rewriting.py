"""From decisions to text: references replaced, the helper and its imports added, and marks for a verification."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jaxmigrate.migrate.decide import Decision
from jaxmigrate.migrate.edits import Edit, Positions, apply_edits
from jaxmigrate.migrate.global_file import GlobalRewrite
from jaxmigrate.migrate.helper import Needs, helper_lines
from jaxmigrate.migrate.imports import Imports, insertions, leading, plan_imports, removals, together
from jaxmigrate.migrate.nested_code import inner_axis_lines, inside_lines, inside_names, nested_lines
from jaxmigrate.migrate.style import Style, style_of
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import is_docstring

TRANSFORM_MARK, MAPPED_MARK = "__jaxmigrate_transform__", "__jaxmigrate_mapped__"
_CODING = re.compile(r"coding[:=][ \t]*[-\w.]")


@dataclass(frozen=True, slots=True)
class Mark:
    """A place whose value a verification records: the callee of a site, under the site's id.

    `mapped` says that the expression gives the mapped function itself.
    """

    site: str
    node: ast.expr
    mapped: bool = False


def rewrite(
    module: Module,
    decisions: Sequence[Decision],
    needs: Needs,
    default_axis: str,
    kept: frozenset[str],
    arrays: GlobalRewrite | None = None,
) -> list[Edit]:
    """The edits that replace references by the helper and add it with its imports; none where nothing is replaced.

    `arrays` is what global arrays change in the file beside; decisions of sites that it rewrites are not among these.
    """
    replaced = [d for d in decisions if d.refusal is None]
    if not replaced and arrays is None:
        return removals(module, Positions(module.text), set(), kept)
    positions = Positions(module.text)
    style = style_of(module)
    edits = [] if arrays is None else [*arrays.edits]
    added = [] if arrays is None else [*arrays.added]
    helpers = [] if arrays is None else list(arrays.helpers)
    uses = [] if arrays is None else list(arrays.uses)
    if replaced:
        plan = plan_imports(module, needs, default_axis)
        more, lines = _stacked(module, replaced, needs, plan, positions)
        edits, helpers, uses = edits + more, helpers + lines, uses + [d.reference.node for d in replaced]
        added += plan.added
    edits += insertions(module, positions, together(added), style.newline)
    gone = {d.reference.node for d in replaced} | (arrays.replaced if arrays is not None else set())
    edits += removals(module, positions, gone, kept)
    if helpers:
        edits.append(helper_edit(module, positions, style, helpers, uses))
    return edits


def _stacked(
    module: Module,
    replaced: Sequence[Decision],
    needs: Needs,
    plan: Imports,
    positions: Positions,
) -> tuple[list[Edit], list[list[str]]]:
    """The edits and helpers for what stays stacked."""
    plain = [d.reference for d in replaced if d.is_plain]
    nested = [d for d in replaced if d.nested is not None]
    inside = [d for d in replaced if d.inside]
    names = inside_names(module, plan.names) if inside else plan.names
    edits = [Edit(*positions.span(r.node), names.helper) for r in plain]
    edits += [Edit(*positions.span(d.reference.node), names.inside) for d in inside]
    for decision in nested:
        edits += _nested_edits(decision, module, positions, plan)
    helpers = [*([helper_lines(needs, names)] if plain else []), *([nested_lines(names)] if nested else [])]
    if inside:
        sites = [site for d in inside for site in d.sites]
        helpers = [inner_axis_lines(names), *helpers, inside_lines(names, sites)]
    return edits, helpers


def planned_imports(module: Module, decisions: Sequence[Decision], needs: Needs, default_axis: str) -> tuple[str, ...]:
    """The import statements that the stacked helper of a file will add to it."""
    replaced = any(d.refusal is None for d in decisions)
    return plan_imports(module, needs, default_axis).added if replaced else ()


def _nested_edits(decision: Decision, module: Module, positions: Positions, plan: Imports) -> list[Edit]:
    """One map over two axes for a map of a map: the inner call falls away, its axis goes beside the outer one."""
    nested = decision.nested
    assert nested is not None
    call, function = positions.span(nested.call), positions.span(nested.function)
    start, end = positions.span(nested.outer_axis)
    return [
        Edit(*positions.span(decision.reference.node), plan.names.nested),
        Edit(call[0], function[0], ""),
        Edit(function[1], call[1], ""),
        Edit(start, start, "("),
        Edit(end, end, f", {module.segment(nested.inner_axis)})"),
    ]


def marked(text_of: Module, edits: Iterable[Edit], marks: Sequence[Mark]) -> str:
    """The text after `edits` with marks put around the places that `marks` name; lines do not move."""
    positions = Positions(text_of.text)
    spans = [(positions.span(m.node), f"{MAPPED_MARK if m.mapped else TRANSFORM_MARK}({m.site!r}, ") for m in marks]
    return apply_edits(text_of.text, _with_marks(list(edits), spans))


def _with_marks(edits: list[Edit], spans: Sequence[tuple[tuple[int, int], str]]) -> list[Edit]:
    """A mark around a replaced place goes into the replacement, others are insertions before and after."""
    closing = ")"
    for (start, end), opening in spans:
        same = next((e for e in edits if (e.start, e.end) == (start, end)), None)
        if same is not None:
            edits.remove(same)
            edits.append(Edit(start, end, f"{opening}{same.replacement}{closing}"))
        else:
            edits += [Edit(start, start, opening), Edit(end, end, closing)]
    return edits


def helper_edit(
    module: Module, positions: Positions, style: Style, helpers: Sequence[list[str]], uses: Sequence[ast.expr]
) -> Edit:
    """The edit that writes functions out below the imports of a module, before the first of their uses."""
    text = (style.newline * 2).join(style.render(lines) for lines in helpers)
    if module.cells:
        return _helper_edit_in_cell(module, positions, style, text, uses)
    last = _last_import_line(module, uses) or _last_head_line(module)
    if last == 0:
        return Edit(0, 0, text + style.newline * 2)
    last = _past_comments(module, last)
    _, end = positions.line_span(last)
    ended = module.text[:end].endswith(("\n", "\r"))
    blank = _blank_lines_after(module, last)
    after = style.newline * max(0, 2 - blank) if module.text[end:].strip() else ""
    return Edit(end, end, ("" if ended else style.newline) + style.newline * 2 + text + after)


def _helper_edit_in_cell(
    module: Module, positions: Positions, style: Style, text: str, uses: Sequence[ast.expr]
) -> Edit:
    """In a notebook, helpers stand in the first cell that needs them, below the imports of that cell."""
    first_use = min(use.lineno for use in uses)
    cell = [start for start in module.cells if start.header < first_use][-1]
    last = cell.body
    for statement in module.tree.body:
        end = statement.end_lineno or statement.lineno
        if statement.lineno > cell.header and end < first_use and _imports_only(statement):
            last = end
    last = _past_comments(module, last) if last > cell.body else last
    _, end = positions.line_span(last)
    before = style.newline * 2 if last > cell.body else ""
    return Edit(end, end, before + text + style.newline * max(0, 2 - _blank_lines_after(module, last)))


def _last_import_line(module: Module, uses: Sequence[ast.expr]) -> int:
    """The last line of the imports (and docstring) after which the helper goes, before anything that uses it."""
    first_use = min(use.lineno for use in uses)
    last = 0
    for index, statement in enumerate(leading(module)):
        end = statement.end_lineno or statement.lineno
        if statement.lineno >= first_use or end >= first_use:
            break
        if (index == 0 and is_docstring(statement)) or _imports_only(statement):
            last = end
    return last


def _last_head_line(module: Module) -> int:
    """The last of the first two lines that says which program runs the file or how it is encoded; 0 without one."""
    last = 0
    for number, line in enumerate(module.lines[:2], 1):
        if not line.lstrip(" \t\f").startswith("#"):
            break
        last = number if line.startswith("#!") or _CODING.search(line) else last
    return last


def _imports_only(statement: ast.stmt) -> bool:
    """Whether a statement is an import, or a try or if that holds one."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return True
    if isinstance(statement, ast.Try | ast.If):
        return any(_imports_only(s) for s in statement.body)
    return False


def _past_comments(module: Module, line: int) -> int:
    """A comment right below the imports belongs to them, such as one that turns a linter on again."""
    lines = module.text.splitlines() if "\x0c" not in module.text else module.text.split("\n")
    while line < len(lines) and lines[line].startswith("#"):
        line += 1
    return line


def _blank_lines_after(module: Module, line: int) -> int:
    positions = Positions(module.text)
    count = 0
    while line + count < len(positions.starts):
        start, end = positions.line_span(line + count + 1)
        if module.text[start:end].strip() or start == end:
            break
        count += 1
    return count
