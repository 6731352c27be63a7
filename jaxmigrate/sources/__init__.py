"""Files in and out: found, decoded, and replaced atomically. Knows nothing of JAX."""

from jaxmigrate.sources.decoding import SourceError, SourceFile, decode, read_source, source_lines
from jaxmigrate.sources.discovery import STDIN, Discovery, Kind, Location, discover
from jaxmigrate.sources.patterns import matches
from jaxmigrate.sources.writing import replace_bytes, write_source

__all__ = [
    "STDIN",
    "Discovery",
    "Kind",
    "Location",
    "SourceError",
    "SourceFile",
    "decode",
    "discover",
    "matches",
    "read_source",
    "replace_bytes",
    "source_lines",
    "write_source",
]
