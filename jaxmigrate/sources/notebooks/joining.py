"""Cells as one module, and an edited module as cells again."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from jaxmigrate.records import record
from jaxmigrate.sources.containers import CellStart
from jaxmigrate.sources.notebooks.magics import MARK, SHOWN, Masked, Shows, marks_in, mask
from jaxmigrate.sources.notebooks.scanning import lines_of

HEADER_MARK = "#jaxmigrate-cell"
_END = "\0"  # of what is shown; no source can have it
ANY_ORDER = " any-order"
_HEADER = re.compile(rf"(?:^|(?<=[\r\n]))(?:if 1:)? {HEADER_MARK} (\d+) (\d+)(?:{ANY_ORDER})?\n")
_ENDS = re.compile(r"\r\n|\r|\n")


def lines_named(path: str) -> re.Pattern[str]:
    """What names a line of a module in words: `(line 3)`, or a path, by a pattern with one group, with a line."""
    return re.compile(rf"\(line (\d+)\)|{path}:(\d+)\b")


_LINES_NAMED = lines_named(r"([^\s(:]+\.ipynb)")


class TornError(ValueError):
    """An edited module that cannot be taken apart into cells again without breaking a magic."""

    def __init__(self, cell: int, message: str) -> None:
        super().__init__(message)
        self.cell, self.message = cell, message


class Place(NamedTuple):
    """A line and a column of a cell, from 1; the cell is 0 where there is none."""

    cell: int
    line: int
    column: int


@record
class Cell:
    """A cell by its number among all cells from 1, with its source as it is and as Python."""

    number: int
    source: str
    masked: Masked
    shows: Shows = "last"


def cell_starts(text: str) -> tuple[CellStart, ...]:
    """Where the cells of a joined text begin; none where it is not one."""
    if HEADER_MARK not in text:
        return ()
    found = []
    line, done = 1, 0
    ends = _ENDS if "\r" in text else None
    for header in _HEADER.finditer(text):
        line += len(ends.findall(text, done, header.start())) if ends else text.count("\n", done, header.start())
        done = header.start()
        found.append(CellStart(line, line + int(header[2])))
    return tuple(found)


def runs_in_order(text: str) -> bool:
    """Whether the cells of a joined text run in the order in which they stand, as far as the notebook tells."""
    first = _HEADER.match(text)
    return first is None or ANY_ORDER not in first[0]


def join(sources: Sequence[tuple[int, str]], in_order: bool = True, shown: Collection[int] | None = None) -> Joined:
    """Joins the sources of cells, given with their numbers; `in_order` says whether they run in this order.

    Cells show their last expressions; of blocks of documentation, those of the numbers in `shown` show them all, and
    others none.

    Raises:
        TornError: A cell holds the comments that are used to tell cells and magics apart.
    """
    cells = []
    for number, source in sources:
        if HEADER_MARK in source or MARK in source:
            raise TornError(number, "contains a comment that jaxmigrate uses to mark cells; remove it")
        shows: Shows = "last" if shown is None else "all" if number in shown else "none"
        cells.append(Cell(number, source, mask(source, shows), shows))
    return Joined(tuple(cells), in_order)


@record
class Joined:
    """Cells as one module, and whether they run in their order."""

    cells: tuple[Cell, ...]
    in_order: bool = True

    @cached_property
    def text(self) -> str:
        """The module: for each cell a header, its Python, and an end of line."""
        order = "" if self.in_order else ANY_ORDER
        return "".join(f"{_header(cell)}{order}\n{cell.masked.text}\n" for cell in self.cells)

    @cached_property
    def _headers(self) -> list[int]:
        return [start.header for start in cell_starts(self.text)]

    def place(self, line: int, column: int = 0) -> Place:
        """The place in a cell of a place in the module; the line of a header is the first of its cell."""
        index = bisect_right(self._headers, line) - 1
        if index < 0:
            return Place(0, line, column)
        cell = self.cells[index]
        inside = max(1, line - self._headers[index])
        shift = cell.masked.shifts.get(inside, 0) if column else 0
        return Place(cell.number, inside, column + shift)

    def located(self, message: str) -> str:
        """A message with the lines of the module that it names in words told as lines of cells."""

        def told(found: re.Match[str]) -> str:
            place = self.place(int(found[1] or found[3]))
            return (
                f"{found[2]}:cell {place.cell}:{place.line}" if found[2] else f"(cell {place.cell}, line {place.line})"
            )

        return _LINES_NAMED.sub(told, message)

    def line_of(self, number: int, line: int) -> str:
        """A line of a cell as it stands in the notebook, or an empty string."""
        for cell in self.cells:
            if cell.number == number:
                lines = lines_of(cell.source)
                return lines[line - 1].rstrip("\r\n") if 0 < line <= len(lines) else ""
        return ""

    def sources_of(self, text: str) -> list[str]:
        """The sources of the cells as an edited module has them.

        Raises:
            TornError: The edits do not leave cells or magics whole.
        """
        pieces = list(_pieces(text))
        if [number for number, _, _ in pieces] != [cell.number for cell in self.cells]:
            raise TornError(0, "cannot be rewritten without moving code from one cell to another")
        return [_restored(cell, head, body) for cell, (_, head, body) in zip(self.cells, pieces, strict=True)]


def pieces(text: str) -> list[tuple[int, str]]:
    """The Python of each cell of a joined text, with the cell's number; an indented cell stands below a condition."""
    return [(number, f"if 1:\n{body}" if head.startswith("if") else body) for number, head, body in _pieces(text)]


def _header(cell: Cell) -> str:
    """The line above a cell; one that begins indented, as IPython allows, stands below a condition."""
    first = next((line for line in lines_of(cell.masked.text)[cell.masked.body :] if line.strip()), "")
    indented = first[:1] in (" ", "\t") and not first.lstrip().startswith("#")
    return f"{'if 1:' if indented else ''} {HEADER_MARK} {cell.number} {cell.masked.body}"


def _pieces(text: str) -> Iterator[tuple[int, str, str]]:
    """The number, the header and the rest of each cell of a module."""
    found = list(_HEADER.finditer(text))
    for header, end in zip(found, [*(later.start() for later in found[1:]), len(text)], strict=False):
        body = text[header.end() : end]
        yield int(header[1]), header[0], body.removesuffix("\n")


def _restored(cell: Cell, head: str, body: str) -> str:
    """The source of a cell with the magics put back, which must then mean what the edited Python did."""
    if body == cell.masked.text:
        return cell.source
    seen: list[int] = []
    source = _trimmed("".join(_unshown([_unmasked(line, cell, seen) for line in lines_of(body)])), cell)
    again = mask(source, cell.shows)
    whole = seen == list(range(len(cell.masked.entries))) and again.body >= cell.masked.body
    if not whole or _meaning(head + again.text) != _meaning(head + body):
        raise TornError(
            cell.number, "cannot be rewritten without breaking up a magic; put the code on a line of its own"
        )
    return source


def _unmasked(line: str, cell: Cell, seen: list[int]) -> str:
    content = line.rstrip("\r\n")
    for start, number in marks_in(content):
        if number >= len(cell.masked.entries):
            continue
        seen.append(number)
        entry = cell.masked.entries[number]
        ending = line[len(content) :]
        if entry.kind == "line":
            if content == entry.masked:
                return entry.original + ending
            raise TornError(cell.number, "cannot be rewritten without changing a magic or a shell line")
        if entry.kind == "shown":
            if not content[:start].endswith(f"){entry.original}"):
                raise TornError(
                    cell.number,
                    "cannot be rewritten without changing its output; assign the last expression to a variable first",
                )
            return f"{content[: start - len(entry.original) - 1]}{entry.original}{_END}{ending}"
        code = content[:start].lstrip()
        indent = content[: len(content[:start]) - len(code)]
        return f"{indent}{entry.original}{code}{ending}"
    return line


def _unshown(lines: list[str]) -> list[str]:
    """The lines without the calls that say that an expression is shown, whose ends are marked."""
    for end in [n for n, line in enumerate(lines) if _END in line]:
        lines[end] = lines[end].replace(_END, "")
        first = next(n for n in range(end, -1, -1) if lines[n].startswith(SHOWN))
        lines[first] = lines[first].removeprefix(SHOWN)
    return lines


def _trimmed(source: str, cell: Cell) -> str:
    """The source without blank lines at its ends that it did not have."""
    if not cell.source.endswith(("\r", "\n")):
        source = source.rstrip("\r\n")
    return source.lstrip("\r\n") if cell.source[:1] not in ("\r", "\n") else source


def _meaning(text: str) -> str:
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def check_cells(text: str, tree: ast.Module | None) -> None:
    """Raises SyntaxError, with the line in the joined text, for the first cell that is no Python by itself.

    `tree` is what the text parses as, None where it does not: then, and where a statement or a backslash leads from one
    cell to the next, cells are parsed one by one.
    """
    if tree is not None and _are_apart(text, tree):
        return
    line = 1
    for _, head, body in _pieces(text):
        try:
            ast.parse(f"{head}{body}\n" if not _is_blank(head, body) else "")
        except SyntaxError as error:
            error.lineno = line + (error.lineno or 1) - 1
            raise
        line += len(lines_of(f"{head}{body}\n"))


def _are_apart(text: str, tree: ast.Module) -> bool:
    """Whether no statement of a joined text stands in two cells, so that each is Python because the text is."""
    ends = [*(header.start() for header in _HEADER.finditer(text)), len(text)]
    if any(text[max(0, end - 5) : end].rstrip("\r\n").endswith("\\") for end in ends):
        return False
    headers = [start.header for start in cell_starts(text)]
    for one in tree.body:
        decorators: list[ast.expr] = getattr(one, "decorator_list", [])
        first = min([one.lineno, *(node.lineno for node in decorators)])
        if bisect_right(headers, first) != bisect_right(headers, one.end_lineno or first):
            return False
    return True


def _is_blank(head: str, body: str) -> bool:
    return head.startswith(" ") and not body.strip()
