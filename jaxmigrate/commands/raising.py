"""Requirements of a project that are raised to the JAX that rewritten code needs."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.program.old_names import Release
from jaxmigrate.reports.diff import diff_of
from jaxmigrate.reports.fix_result import FixedFile, Outcome
from jaxmigrate.requirements import OLDEST, Requirement, pins, requirements
from jaxmigrate.sources import SourceError, SourceFile, read_source, write_source

UPPER = ("<", "<=", "!=")


class Raised(NamedTuple):
    """The files that change, what could not be written, and what is left to the user, in words."""

    files: list[FixedFile]
    errors: list[SourceError]
    left: list[str]


def raise_requirements(
    root: Path, given: Sequence[str], taken: Collection[Path], target: Release | None, *, writes: bool
) -> Raised:
    """Asks for the JAX that rewritten code needs, in the files of a project that lie in the folders that were given.

    `taken` are files that are rewritten for another reason: they are left as they are here.
    """
    wanted = [one for one in requirements(root) if one.too_old or one.lets_old_in]
    folders = [Path(one).absolute() for one in given]
    oldest = max(OLDEST, target or OLDEST)
    files, errors = list[FixedFile](), list[SourceError]()
    done: set[str] = set()
    for name in dict.fromkeys(one.file for one in wanted):
        path = root / name
        here = [one for one in wanted if one.file == name]
        if any(one.fixed for one in here) or path in taken or not any(one in path.parents for one in folders):
            continue
        try:
            source = read_source(path, os.path.relpath(path).replace(os.sep, "/"))
            after = _raised(source.text, here, oldest)
            if writes:
                write_source(source, after)
        except SourceError as error:
            errors.append(error)
            continue
        done.add(name)
        files.append(_file(source, after, here, oldest, writes=writes))
    left = [one for one in pins(root) if one.partition(":")[0] not in done]
    return Raised(files, errors, left)


def _file(source: SourceFile, after: str, here: Sequence[Requirement], oldest: Release, *, writes: bool) -> FixedFile:
    names = " and ".join(dict.fromkeys(one.name for one in here))
    remark = f"{'raised' if writes else 'would raise'} {names} to {_release(oldest)}, which rewritten code needs"
    outcome: Outcome = "written" if writes else "shown"
    return FixedFile(source.name, outcome, (), diff_of(source, after), source.encoding, remark=remark)


def _raised(text: str, here: Sequence[Requirement], oldest: Release) -> str:
    lines = text.split("\n")
    for one in sorted(here, key=lambda one: (one.line, one.start), reverse=True):
        line = lines[one.line - 1]
        lines[one.line - 1] = line[: one.start] + _bounds(one, line[one.start : one.end], oldest) + line[one.end :]
    return "\n".join(lines)


def _bounds(one: Requirement, said: str, oldest: Release) -> str:
    """The bounds that are asked for now, with the spaces of those that stood there."""
    before, space = re.match(r"\s*", said), re.match(r"\s*\D*?(\s*)\d", said)
    gap = space[1] if space is not None else ""
    kept = [f"{how}{gap}{_release(release)}" for how, release in _kept(one, oldest)]
    comma = ", " if ", " in said else ","
    return (before[0] if before is not None else "") + comma.join([f">={gap}{_release(oldest)}", *kept])


def _kept(one: Requirement, oldest: Release) -> Iterator[tuple[str, Release]]:
    """The upper bounds that still let something in."""
    for how, release, any_patch in one.bounds:
        if how in UPPER and not any_patch and release > oldest:
            yield how, release


def _release(release: Release) -> str:
    return ".".join(map(str, release))
