"""A file of documentation as a source file: its blocks of Python as one module, and its text with edits in them."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from jaxmigrate.records import record, replace
from jaxmigrate.sources.containers import Located
from jaxmigrate.sources.decoding import SourceError, SourceFile, decode_text
from jaxmigrate.sources.documentation.blocks import SUFFIXES, Block, Line, find_blocks
from jaxmigrate.sources.notebooks.joining import Joined, TornError, join, lines_named
from jaxmigrate.sources.notebooks.scanning import lines_of

_LINES_NAMED = lines_named(r"([^\s(:]+)\.docs")


@record
class Documentation:
    """What a file of documentation holds.

    Attributes:
        file: The file itself.
        group: Which of its groups of blocks this is.
        blocks: The blocks of Python, by number from 1, without those that are no Python.
        joined: They as one module.
    """

    file: SourceFile
    group: int
    blocks: Mapping[int, Block]
    joined: Joined

    has_cells = False
    skipped = ""

    def located(self, line: int, column: int) -> Located:
        """The place in the file of a place in the module."""
        place = self.joined.place(line, column) if line else None
        if place is None or not place.cell:
            return Located(0, 0, 0, 0)
        lines = self.blocks[place.cell].lines
        found = lines[min(place.line, len(lines)) - 1]
        return Located(0, found.number + 1, place.column + len(found.prefix) if column else 0, 0)

    def line(self, _cell: int, line: int) -> str:
        """A line of the file."""
        return self.file.line(line)

    def in_words(self, message: str) -> str:
        """A message that names lines of the module with those of the file instead."""

        def told(found: re.Match[str]) -> str:
            line = self.located(int(found[1] or found[3]), 0).line
            return f"{found[2]}:{line}" if found[2] else f"(line {line})"

        return _LINES_NAMED.sub(told, message)

    def encode(self, text: str) -> bytes:
        """The file's bytes once the module has the text given.

        Raises:
            SourceError: The module was edited in a way that the blocks do not allow.
        """
        return self.file.encode(self.rewritten(text))

    def rewritten(self, text: str) -> str:
        """The file's text once the module has the text given.

        Raises:
            SourceError: As `encode`.
        """
        if text == self.joined.text:
            return self.file.text
        try:
            sources = self.joined.sources_of(text)
        except TornError as error:
            line = self.blocks[error.cell].lines[0].number + 1 if error.cell else 0
            raise SourceError(self.file.name, error.message, line) from None
        lines = lines_of(self.file.text)
        edits = [
            edit
            for (_, block), cell, source in zip(self.blocks.items(), self.joined.cells, sources, strict=True)
            if source != cell.source
            for edit in _edits(block, source, lines)
        ]
        for start, end, new in sorted(edits, reverse=True):
            lines[start:end] = new
        after = "".join(lines)
        self._check(after, sources)
        return after

    def _check(self, after: str, sources: Sequence[str]) -> None:
        """The blocks of the new text have to be the new sources: nothing was put where it means something else."""
        found = [one.source for one in _blocks(after, self.file.path, self.group) if _parses(one.source)]
        new = [source for source in sources if source.strip()]
        if [_meaning(source) for source in found] != [_meaning(source) for source in new]:
            raise SourceError(self.file.name, "cannot be rewritten without breaking the text around its code")


def groups_of(raw: bytes, name: str, path: Path) -> list[int]:
    """The groups of blocks in a file, each of which shares its names.

    Raises:
        SourceError: The file cannot be decoded.
    """
    return sorted({block.group for block in _blocks(_decoded(raw, name, path).text, path)})


def read_documentation(
    raw: bytes, name: str, path: Path, group: int, words: Sequence[str]
) -> tuple[SourceFile, list[SourceError]]:
    """Reads a group of blocks of a file as a source file whose text is the Python in them as one module.

    Returns:
        It, without blocks that are no Python, and an error for each of these that holds one of `words`.

    Raises:
        SourceError: The file cannot be decoded.
    """
    file = replace(_decoded(raw, name, path), path=path)
    blocks: dict[int, Block] = {}
    broken: list[SourceError] = []
    for number, block in enumerate(_blocks(file.text, path, group), 1):
        error = _error(block.source)
        if error is None:
            blocks[number] = block
        elif any(word in block.source for word in words):
            line = block.lines[min(error.lineno or 1, len(block.lines)) - 1]
            broken.append(SourceError(name, f"this code cannot be parsed: {error.msg}", line.number + 1))
    joined = join([(n, b.source) for n, b in blocks.items()], shown={n for n, b in blocks.items() if b.prompts})
    documentation = Documentation(file, group, blocks, joined)
    return SourceFile(name, path, raw, joined.text, file.encoding, file.bom, documentation), broken


def _decoded(raw: bytes, name: str, path: Path) -> SourceFile:
    return decode_text(raw, name, path if path.suffix == ".py" else None)


def _blocks(text: str, path: Path | None, group: int | None = None) -> list[Block]:
    found = find_blocks([line.rstrip("\r\n") for line in lines_of(text)], _suffix(path))
    return [block for block in found if group in (None, block.group)]


def _suffix(path: Path | None) -> str:
    return path.suffix.lower() if path is not None and path.suffix.lower() in SUFFIXES else ".md"


def _error(source: str) -> SyntaxError | None:
    """Why a block is no Python by itself, None if it is; magics are masked before, so that these do not count."""
    try:
        joined = join([(1, source)])
        ast.parse(joined.text)
    except SyntaxError as error:
        error.lineno = max(1, (error.lineno or 1) - 1)
        return error
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(str(error))
    return None


def _parses(source: str) -> bool:
    return _error(source) is None


def _meaning(source: str) -> str:
    return ast.dump(ast.parse(join([(1, source)]).text))


def _edits(block: Block, source: str, lines: Sequence[str]) -> Iterator[tuple[int, int, list[str]]]:
    """The lines of the file, by index, that change with the source of a block, and what they become."""
    new = source.splitlines()
    starts = _statement_lines(source)
    old = [line.code for line in block.lines]
    ending = "\r\n" if lines[block.lines[0].number].endswith("\r\n") else "\n"
    for kind, first, last, new_first, new_last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        written = [
            f"{_prefix(block, first, n in starts)}{code}".rstrip() + ending
            for n, code in enumerate(new[new_first:new_last], new_first)
            if code.strip() or not (block.prompts and _is_between(n, new, starts))
        ]
        written = [_quoted(line, block.quote) for line in written]
        for line in block.lines[first:last]:
            yield line.number, line.number + 1, written if line is block.lines[first] else []
        if first == last:
            at = block.lines[first].number if first < len(block.lines) else block.lines[-1].number + 1
            yield at, at, written


def _statement_lines(source: str) -> set[int]:
    """The indices of the lines at which statements, comments between them included, begin."""
    tree = ast.parse(join([(1, source)]).text)
    begins = {min([s.lineno, *(d.lineno for d in getattr(s, "decorator_list", []))]) - 2 for s in tree.body}
    covered = {n for s in tree.body for n in range(s.lineno - 2, (s.end_lineno or s.lineno) - 1)}
    comments = {n for n, line in enumerate(source.splitlines()) if line.startswith("#") and n not in covered}
    return begins | comments


def _is_between(number: int, lines: Sequence[str], starts: set[int]) -> bool:
    """Whether a blank line stands between two statements, where a doctest needs none."""
    following = next((n for n in range(number, len(lines)) if lines[n].strip()), len(lines))
    return following in starts or following == len(lines)


def _prefix(block: Block, near: int, begins: bool) -> str:
    """What stands before a new line of a block, as before the line that it is put next to."""
    model: Line = block.lines[min(near, len(block.lines) - 1)]
    if block.prompts:
        indent = re.match(r"[ \t]*", model.prefix)
        return f"{indent[0] if indent else ''}{'>>>' if begins else '...'} "
    return next((line.prefix for line in block.lines if line.code.strip()), "")


def _quoted(line: str, quote: str) -> str:
    """A line that does not end the docstring that it is put into."""
    return line.replace(quote, "'''" if quote == '"""' else '"""') if quote else line
