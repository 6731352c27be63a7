"""Puts a report where the user wants it, in the format that the file's ending names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from jaxmigrate.commands import Failure

_Told = TypeVar("_Told")


def links() -> str:
    """Where a run of GitHub's Actions has the project's files for whoever reads its report; else nothing."""
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_SHA")
    server, repository, commit = (os.environ.get(name, "") for name in names)
    if not (server and repository and commit):
        return ""
    here = os.path.relpath(os.getcwd(), os.environ.get("GITHUB_WORKSPACE", os.getcwd())).replace(os.sep, "/")
    return f"{server}/{repository}/blob/{commit}{'' if here == '.' else f'/{here}'}"


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
