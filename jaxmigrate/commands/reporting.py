"""Puts a report where the user wants it, in the format that the file's ending names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from jaxmigrate.commands import Failure

_Told = TypeVar("_Told")


def write_reports(told: _Told, files: Iterable[str], writers: Mapping[str, Callable[[_Told], str]]) -> None:
    """Writes what is to be told to each file with the writer for its ending.

    Raises:
        Failure: A file cannot be written.
    """
    for file in files:
        text = writers[os.path.splitext(file)[1]](told)
        try:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        except OSError as error:
            raise Failure(f"the report {file} cannot be written: {(error.strerror or str(error)).lower()}") from error
