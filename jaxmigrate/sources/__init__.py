"""Files in and out: found, decoded, and replaced atomically. Knows nothing of JAX."""

from jaxmigrate.sources.decoding import (
    JOINED,
    NOTEBOOK,
    SourceError,
    SourceFile,
    error_in,
    shown_path,
    source_lines,
)
from jaxmigrate.sources.discovery import STDIN, Discovery, Kind, Location, discover
from jaxmigrate.sources.patterns import matches
from jaxmigrate.sources.reading import decode, read_source
from jaxmigrate.sources.writing import create_source, is_writable, may_be_created, replace_bytes, write_source

__all__ = [
    "JOINED",
    "NOTEBOOK",
    "STDIN",
    "Discovery",
    "Kind",
    "Location",
    "SourceError",
    "SourceFile",
    "create_source",
    "decode",
    "discover",
    "error_in",
    "is_writable",
    "matches",
    "may_be_created",
    "read_source",
    "replace_bytes",
    "shown_path",
    "source_lines",
    "write_source",
]
