"""Reads files into source files: Python as its bytes say, notebooks as one module of their cells."""

from __future__ import annotations

from pathlib import Path

from jaxmigrate.sources.decoding import NOTEBOOK, SourceError, SourceFile, decode_text, os_reason


def read_source(path: Path, name: str | None = None) -> SourceFile:
    """Reads and decodes a file; `name` is what messages call it, by default the path itself.

    Raises:
        SourceError: The file cannot be read or is not text that Python would accept.
    """
    shown = path.as_posix() if name is None else name
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise SourceError(shown, os_reason(error)) from error
    return decode(raw, shown, path)


def decode(raw: bytes, name: str, path: Path | None = None) -> SourceFile:
    """Decodes bytes as Python would: by byte order mark, else by PEP 263 cookie, else as UTF-8; notebooks as such.

    Raises:
        SourceError: Unknown or contradictory encoding, bytes that it does not have, null bytes, or a broken notebook.
    """
    if path is not None and path.suffix == NOTEBOOK:
        from jaxmigrate.sources.notebooks.notebook import read_notebook

        return read_notebook(raw, name, path)
    return decode_text(raw, name, path)
