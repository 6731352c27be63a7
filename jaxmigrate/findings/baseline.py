"""Findings that a team knows of and lives with for now, kept in a file, so that only new ones are told.

An entry is a file, a code and a message, not a line, so that editing above a finding does not bring it back. Messages
hold no line numbers for that reason. Paths are relative to the baseline's own folder.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.findings import Finding

VERSION = 1

Entry = tuple[str, str, str]


class BaselineError(Exception):
    """A baseline that cannot be read or written, in a sentence that names the file."""


class Compared(NamedTuple):
    """The findings that a baseline does not have, and how many of its entries are no longer found."""

    new: list[Finding]
    gone: int


def compare(findings: Sequence[Finding], file: Path, tells: Callable[[str], bool] | None = None) -> Compared:
    """Leaves out as many findings of each kind as the baseline has, whose entries count for the files that one `tells`,
    by absolute path.

    Raises:
        BaselineError: It cannot be read, or is no baseline.
    """
    known = _read(file)
    if tells is not None:
        known = Counter(
            {e: count for e, count in known.items() if tells(os.path.abspath(file.absolute().parent / e[0]))}
        )
    new: list[Finding] = []
    for finding in findings:
        entry = _entry(finding, file)
        if known[entry] > 0:
            known[entry] -= 1
        else:
            new.append(finding)
    return Compared(new, sum(known.values()))


def write(findings: Iterable[Finding], file: Path) -> None:
    """Makes these findings the baseline.

    Raises:
        BaselineError: The file cannot be written.
    """
    text = as_json(Counter(_entry(finding, file) for finding in findings))
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BaselineError(f"{file}: the baseline cannot be written: {error.strerror or error}") from error


def as_json(counts: Mapping[Entry, int], version: int = VERSION) -> str:
    """A baseline with so many of each entry."""
    entries = [
        {"path": path, "code": code, "message": message, "count": count}
        for (path, code, message), count in sorted(counts.items())
    ]
    return json.dumps({"version": version, "findings": entries}, indent=2, ensure_ascii=False) + "\n"


def _read(file: Path) -> Counter[Entry]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if content["version"] != VERSION:
            raise BaselineError(f"{file}: is a baseline of another version of jaxmigrate; write it again")
        return Counter({(e["path"], e["code"], e["message"]): int(e["count"]) for e in content["findings"]})
    except OSError as error:
        raise BaselineError(f"{file}: the baseline cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BaselineError(f"{file}: is not a baseline of jaxmigrate") from error


def _entry(finding: Finding, file: Path) -> Entry:
    path = finding.path
    if not path.startswith("<"):
        path = Path(os.path.relpath(finding.path, file.absolute().parent)).as_posix()
    return path, finding.code, finding.message
