"""The files of a program as they were before its migration, from another folder or from a git revision."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from jaxmigrate.commands import Failure
from jaxmigrate.commands.planning import PlannedFile, plan_files
from jaxmigrate.commands.scope import located
from jaxmigrate.sources import SourceFile, decode, read_source


def plan_from_original(path: str, original: str, migrated: Sequence[SourceFile]) -> list[PlannedFile]:
    """Plans the migration of the original, and sees that the files under `path` are what comes of it.

    Args:
        path: The migrated file or folder, as the user named it.
        original: A folder, a file, or a git revision.
        migrated: The files under `path`.

    Raises:
        Failure: There is no such original, or a file is not what `fix` makes of it.
        SourceError: A file of the original cannot be read.
    """
    top = located(Path(path))
    inside = {_inside(source, top): source for source in migrated}
    found = _in_folder(Path(original), inside, top) if Path(original).exists() else _in_git(original, top)
    sources = [_named_like(inside[name], raw) for name, raw in found.items() if name in inside]
    if not sources:
        raise Failure(f"{original} has none of the files of {path}")
    planned, errors = plan_files(sources)
    if errors:
        raise errors[0]
    for file in planned:
        _check(file, {source.name: source for source in migrated})
    return planned


def _check(file: PlannedFile, migrated: Mapping[str, SourceFile]) -> None:
    if file.after != migrated[file.source.name].raw:
        raise Failure(
            f"{file.source.name} is not what `jaxmigrate fix` makes of its original; "
            "migrations made by hand cannot be compared yet"
        )


def _inside(source: SourceFile, top: Path) -> str:
    path = located(Path(source.name))
    return path.name if path == top else path.relative_to(top).as_posix()


def _named_like(migrated: SourceFile, raw: bytes) -> SourceFile:
    return decode(raw, migrated.name, migrated.path)


def _in_folder(original: Path, wanted: Mapping[str, SourceFile], top: Path) -> dict[str, bytes]:
    if original.is_file():
        return {top.name: read_source(original).raw}
    files = {name: original / name for name in wanted}
    return {name: read_source(file).raw for name, file in files.items() if file.is_file()}


def _in_git(revision: str, top: Path) -> dict[str, bytes]:
    folder, what = (top, ".") if top.is_dir() else (top.parent, top.name)
    command = ["git", "-C", str(folder), "archive", "--format=tar", revision, "--", what]
    try:
        archive = subprocess.run(command, capture_output=True, check=True).stdout
    except FileNotFoundError:
        raise Failure(f"{revision} is no folder, and there is no git to look for such a revision") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().splitlines()
        raise Failure(
            f"{revision} is neither a folder nor a git revision: {said[-1] if said else 'git failed'}"
        ) from None
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        files = {member.name.removeprefix("./"): members.extractfile(member) for member in members if member.isfile()}
        return {name: file.read() for name, file in files.items() if file is not None}
