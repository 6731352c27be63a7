"""Turns a file's bytes into text and back without losing one of them.

A rewrite may only change what it means to change, so the text keeps every line ending as it stands, and the encoding
and the byte order mark are remembered for the way back.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Literal

from jaxmigrate.records import record
from jaxmigrate.sources.containers import Container

Newline = Literal["\n", "\r\n", "\r", "mixed", ""]

NOTEBOOK = ".ipynb"
# The endings of modules that are joined from cells or blocks of a file
JOINED = (NOTEBOOK, ".docs")

_LINE_END = re.compile(r"\r\n|\r|\n")
_LINE_END_BYTES = re.compile(rb"\r\n|\r|\n")
_COOKIE = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_COMMENT_OR_BLANK = re.compile(rb"[ \t\f]*(?:#.*)?$")
_EDITORS_NAMES = {"utf-8": ("utf-8", "utf8"), "iso-8859-1": ("latin-1", "iso-8859-1", "iso-latin-1")}


class SourceError(Exception):
    """A file that cannot be read, decoded or written, with the place and a sentence for the user.

    Attributes:
        path: The file as the user named it.
        line: The line counted from 1, or 0 where the whole file is meant.
        column: The column in characters counted from 1, or 0.
        message: What is wrong, without the place.
        cell: The cell of a notebook that the line is counted in, from 1, or 0.
        file_line: The line of the notebook's own file that holds it, or 0.
    """

    def __init__(
        self, path: str, message: str, line: int = 0, column: int = 0, cell: int = 0, file_line: int = 0
    ) -> None:
        super().__init__(path, message, line, column, cell, file_line)
        self.path = path
        self.message = message
        self.line = line
        self.column = column
        self.cell = cell
        self.file_line = file_line

    def __str__(self) -> str:
        place = [shown_path(self.path, self.cell), *(str(number) for number in (self.line, self.column) if number)]
        return f"{':'.join(place)}: {self.message}"

    def to_json(self) -> dict[str, str | int]:
        """The error as plain JSON types, with every attribute under its own name; the last two only in notebooks."""
        plain: dict[str, str | int] = {
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "message": self.message,
        }
        return plain | ({"cell": self.cell, "file_line": self.file_line} if self.cell else {})


def shown_path(path: str, cell: int) -> str:
    """A file, or a cell of it, as messages call it: `train.py`, `train.ipynb:cell 3`."""
    return f"{path}:cell {cell}" if cell else path


@record
class SourceFile:
    """A file's bytes and the text that they stand for.

    Attributes:
        name: The file as the user named it, with forward slashes; `<stdin>` for standard input.
        path: Where it lies, or None for standard input.
        raw: Its bytes.
        text: Its text without a byte order mark and with its line endings untouched.
        encoding: The codec of the text, `utf-8` also where a byte order mark precedes it.
        bom: Whether a UTF-8 byte order mark precedes the text.
        notebook: What tells places in the file from the text, where that is the code of a notebook, or of
            documentation, as one module.
    """

    name: str
    path: Path | None
    raw: bytes
    text: str
    encoding: str
    bom: bool
    notebook: Container | None = None

    @cached_property
    def newline(self) -> Newline:
        """The one line ending that the file uses, `mixed` if it uses several, empty if it has a single line."""
        kinds = set(_LINE_END.findall(self.text))
        if len(kinds) > 1:
            return "mixed"
        return kinds.pop() if kinds else ""

    @property
    def final_newline(self) -> bool:
        """Whether the last line is ended."""
        return self.text.endswith(("\n", "\r"))

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines as Python's parser counts them, without their endings."""
        return tuple(source_lines(self.text))

    @cached_property
    def survives_writing(self) -> bool:
        """Whether the text encodes to exactly the bytes that it came from, which stateful codecs do not promise."""
        try:
            return _encode(self.text, self.encoding, self.bom) == self.raw
        except UnicodeError:
            return False

    def line(self, number: int, cell: int = 0) -> str:
        """The line with that number, counted from 1, or an empty string where the file or the cell has no such line."""
        if self.notebook is not None:
            return self.notebook.line(cell, number)
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def encode(self, text: str) -> bytes:
        """The bytes for a new text of this file, in its encoding and with its byte order mark.

        Raises:
            SourceError: A character does not exist in the file's encoding, or the encoding loses bytes on the way, or
                the text cannot be taken apart into the cells of the notebook that it is.
        """
        if self.notebook is not None:
            return self.notebook.encode(text)
        if not self.survives_writing:
            raise SourceError(self.name, f"cannot be written back unchanged as {self.encoding}")
        try:
            return _encode(text, self.encoding, self.bom)
        except UnicodeEncodeError as error:
            line, column = _place(text[: error.start])
            character = text[error.start]
            message = f"character {character!r} does not exist in the file's encoding {self.encoding}"
            raise SourceError(self.name, message, line, column) from None


def error_in(source: SourceFile, message: str, line: int = 0, column: int = 0) -> SourceError:
    """What is wrong at a place of a file's text, told as a place of a cell where that is a notebook."""
    if source.notebook is None:
        return SourceError(source.name, message, line, column)
    place = source.notebook.located(line, column)
    return SourceError(source.name, message, place.line, place.column, place.cell, place.file_line)


def decode_text(raw: bytes, name: str, path: Path | None = None) -> SourceFile:
    """Decodes bytes as Python would: by byte order mark, else by PEP 263 cookie, else as UTF-8.

    Raises:
        SourceError: Unknown or contradictory encoding, bytes that it does not have, or null bytes.
    """
    bom = raw.startswith(codecs.BOM_UTF8)
    body = raw.removeprefix(codecs.BOM_UTF8)
    encoding = _encoding(body, bom, name)
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        line, column = _place(body[: error.start].decode(encoding, "replace"))
        message = f"byte 0x{body[error.start]:02x} is not {encoding}; declare the file's encoding or save it as UTF-8"
        raise SourceError(name, message, line, column) from None
    except UnicodeError as error:
        raise SourceError(name, f"cannot be decoded as {encoding}: {error}") from None
    if "\0" in text:
        raise SourceError(name, "contains a null byte, which Python does not accept", *_place(text[: text.index("\0")]))
    return SourceFile(name, path, raw, text, encoding, bom)


def source_lines(text: str) -> Iterator[str]:
    """The lines of a text as Python's parser counts them, without endings.

    `str.splitlines` also breaks at form feeds and Unicode separators, which the parser does not.
    """
    lines = _LINE_END.split(text)
    return iter(lines[:-1] if lines[-1] == "" else lines)


def _encoding(body: bytes, bom: bool, name: str) -> str:
    declared, line = _cookie(body)
    if declared is None:
        return "utf-8"
    encoding = _normal_name(declared)
    try:
        b" ".decode(encoding)
    except (LookupError, UnicodeError):
        raise SourceError(name, f"unknown encoding {declared!r}", line) from None
    if bom and encoding != "utf-8":
        raise SourceError(name, f"declares {declared!r} but starts with a UTF-8 byte order mark", line)
    return encoding


def _cookie(body: bytes) -> tuple[str | None, int]:
    for number, line in enumerate(_LINE_END_BYTES.split(body, maxsplit=2)[:2], 1):
        if found := _COOKIE.match(line):
            return found[1].decode("ascii"), number
        if not _COMMENT_OR_BLANK.match(line):
            break
    return None, 0


def _normal_name(declared: str) -> str:
    """The codec that Python takes for a cookie: editors write `utf-8-unix` and `latin-1-dos`."""
    name = declared.lower().replace("_", "-")
    for codec, spellings in _EDITORS_NAMES.items():
        if any(name == spelling or name.startswith(f"{spelling}-") for spelling in spellings):
            return codec
    return declared


def _encode(text: str, encoding: str, bom: bool) -> bytes:
    return (codecs.BOM_UTF8 if bom else b"") + text.encode(encoding)


def _place(before: str) -> tuple[int, int]:
    """Line and column, from 1, of what follows a text."""
    lines = _LINE_END.split(before)
    return len(lines), len(lines[-1]) + 1


def os_reason(error: OSError | ValueError) -> str:
    """An operating system error in the words that follow a file name in a message."""
    strerror = error.strerror if isinstance(error, OSError) else None
    return (strerror or str(error) or type(error).__name__).lower()
