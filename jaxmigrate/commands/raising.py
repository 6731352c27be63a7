"""Requirements of a project that are raised to the JAX that rewritten code needs, and to what runs beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.commands.other_bounds import (
    NUMPY,
    NUMPY_2,
    Change,
    as_least,
    numpy_1,
    opened,
    untold_numpy_1,
    wants_numpy_1,
    with_flax,
)
from jaxmigrate.program.last_releases import Last
from jaxmigrate.program.least_releases import JAX, PYTHON
from jaxmigrate.program.old_names import Release
from jaxmigrate.reports.diff import diff_of
from jaxmigrate.reports.fix_result import FixedFile, Outcome
from jaxmigrate.requirement_lines import UPPER, Bound, Requirement, dotted, names_jax, text_of
from jaxmigrate.requirements import OLDEST, pins, requirements
from jaxmigrate.sources import SourceError, SourceFile, read_source, write_source

CARETS = ("^", "~", "")  # bounds of Poetry, whose Python has to have an end
_OF_CUDA = re.compile(r"cuda\d")
_OLD_EXTRA = re.compile(r"cuda(?:1[01]\w*|12_\w+)$")  # of jax[cuda11_pip], which newer releases do not have


_PINNED = re.compile(r"^\s*(?:-\s+)?[\w.-]+(?:\[[^\]]*\])?\s*={1,2}\s*\d", re.MULTILINE)
FROZEN = 16  # so many packages of one release each are what `pip freeze` writes, of those that need one another too


class Raised(NamedTuple):
    """The files that change, what could not be written, and what is left to the user, in words."""

    files: list[FixedFile]
    errors: list[SourceError]
    left: list[str]


def raise_requirements(
    root: Path,
    given: Sequence[str],
    taken: Collection[Path],
    target: Release | None,
    texts: Collection[str] = (),
    *,
    writes: bool,
) -> Raised:
    """Asks for the JAX that rewritten code needs, in the files of a project that lie in the folders that were given.

    `taken` are files that are rewritten for another reason: they are left as they are here. `texts` are those of the
    program.
    """
    known = list(requirements(root, taken))
    opens = any(one.name in JAX and (one.too_old or one.lets_old_in) for one in known)  # what newer ones let in
    wanted = [one for one in known if one.too_old or one.lets_old_in or (opens and one.too_old_for_newest)]
    uses = cache(partial(_uses, texts))
    folders = [Path(one).absolute() for one in given]
    oldest = max(OLDEST, target or OLDEST)
    files, errors = list[FixedFile](), list[SourceError]()
    done: set[str] = set()
    left = list[str]()
    for name in dict.fromkeys(one.file for one in wanted):
        path = root / name
        here = [one for one in wanted if one.file == name]
        near = [one for one in known if one.file == name]
        if any(one.fixed and not one.command for one in here) or path in taken or not _is_in(path, folders):
            continue
        here = [one for one in here if not one.fixed]
        if not here or _is_of_another(near, text_of(path)):
            continue
        try:
            source = read_source(path, os.path.relpath(path).replace(os.sep, "/"))
            raises_jax = any(one.name in JAX for one in here)
            changes = list(_changes(source.text, here, near, oldest))
            let_newer = opened(root, name, here)
            changes += as_least(source.text, let_newer)
            if raises_jax and not any(one.command for one in here):
                changes += [*numpy_1(name, source.text, here, near), *with_flax(root, name, source.text, uses)]
            after = _changed(source.text, changes)
            if writes:
                write_source(source, after)
        except SourceError as error:
            errors.append(error)
            continue
        done.add(name)
        left += [*_frozen(name, after), *(untold_numpy_1(name, near) if raises_jax else ())]
        files.append(_file(source, after, here, oldest, let_newer, writes=writes))
    return Raised(files, errors, [*left, *pins(root, done, taken)])


def _frozen(name: str, text: str) -> Iterator[str]:
    """That a file fixes what the libraries need which were raised."""
    fixed = len(_PINNED.findall(text)) if name.endswith((".txt", ".in", ".yml", ".yaml")) else 0
    if fixed >= FROZEN:
        yield (
            f"{name} still fixes the releases of {fixed} packages, which may not go with what was raised: "
            "install without them and freeze anew"
        )


def _is_of_another(near: Sequence[Requirement], text: str) -> bool:
    """Whether a file is the list of another framework, whose release does not run beside JAX, and does not name JAX."""
    return any(one.too_old and one.least.with_numpy_1 for one in near) and not names_jax(text)


def _uses(texts: Collection[str], row: Last) -> bool:
    """Whether a program uses what the newest releases of a library no longer have."""
    return any(row.name in text and re.search(rf"\b{row.prefix}[A-Z]", text) is not None for text in texts)


def _is_in(path: Path, folders: Sequence[Path]) -> bool:
    return any(folder in path.parents for folder in folders)


def _file(
    source: SourceFile,
    after: str,
    here: Sequence[Requirement],
    oldest: Release,
    let_newer: Sequence[Requirement],
    *,
    writes: bool,
) -> FixedFile:
    names = " and ".join(dict.fromkeys(one.name for one in here if one.name in JAX))
    parts = [f"{names} to {dotted(oldest)}, which rewritten code needs"] if names else []
    python = [f"Python {one.asked} to {_lower(one, oldest)}" for one in here if one.name == PYTHON]
    beside = [f"{one.name}{one.asked} to {_lower(one, oldest)}" for one in here if one.name not in (*JAX, PYTHON)]
    if others := list(dict.fromkeys([*python, *beside])):
        parts.append(f"what does not run beside jax {dotted(oldest)} and newer: {', '.join(others)}")
    if let_newer:
        parts.append(f"newer releases of what these require: {', '.join(dict.fromkeys(one.name for one in let_newer))}")
    remark = f"{'raised' if writes else 'would raise'} {'; and '.join(parts)}"
    if kinds := list(dict.fromkeys(bound.local for one in here for bound in one.bounds if _is_cuda(bound))):
        remark += f" (jax[cuda12] for +{', +'.join(kinds)})"
    outcome: Outcome = "written" if writes else "shown"
    return FixedFile(source.name, outcome, (), diff_of(source, after), source.encoding, remark=remark)


def _changed(text: str, changes: Sequence[Change]) -> str:
    lines = text.split("\n")
    for change in sorted(changes, reverse=True):
        line = lines[change.line - 1]
        lines[change.line - 1] = line[: change.start] + change.text + line[change.end :]
    return "\n".join(lines)


def _changes(text: str, here: Sequence[Requirement], near: Sequence[Requirement], oldest: Release) -> Iterator[Change]:
    """The new bounds; a wheel of jaxlib for CUDA is asked for by an extra of jax."""
    lines = text.split("\n")
    cuda = any(_is_cuda(bound) for one in here for bound in one.bounds)
    has_jax = any(one.name == "jax" for one in near)
    for one in here:
        line = lines[one.line - 1]
        start, end = one.word
        word = line[start:end]
        if cuda and (one.name == "jax" or not has_jax) and one.name in JAX and one.takes_extras and "[" not in word:
            word = "jax[cuda12]"
        elif one.name == "jax" and "[" in word:
            name, _, extras = word.partition("[")
            each = (_extra(extra.strip()) for extra in extras.rstrip("]").split(","))
            word = f"{name}[{','.join(each)}]" if any(map(_OLD_EXTRA.match, extras.rstrip("]").split(","))) else word
        ends = one.name in NUMPY and wants_numpy_1(near) is not None
        bounds = _bounds(one, line[one.start : one.end], oldest, ends=ends)
        if one.bare:
            yield Change(one.line, start, one.end, f"'{word}{bounds}'")
            continue
        yield Change(one.line, one.start, one.end, bounds)
        if word != line[start:end]:
            yield Change(one.line, start, end, word)


def _extra(name: str) -> str:
    """An extra of jax that its releases have today."""
    if not _OLD_EXTRA.match(name):
        return name
    return "cuda12-local" if "local" in name else "cuda12"


def _is_cuda(bound: Bound) -> bool:
    return _OF_CUDA.match(bound.local) is not None


def _bounds(one: Requirement, said: str, oldest: Release, *, ends: bool) -> str:
    """The bounds that are asked for now, with the spaces of those that stood there, NumPy's below 2 where it `ends`."""
    before, space = re.match(r"\s*", said), re.match(r"\s*[><=~!^]*(\s*)", said)
    gap = space[1] if space is not None else ""
    upper = [f"{bound.how}{gap}{dotted(bound.release)}" for bound in _kept(one, oldest)]
    kept = upper or ([f"<{gap}{dotted(NUMPY_2)}"] if ends else [])
    comma = ", " if ", " in said else ","
    lower = _lower(one, oldest)
    how = re.match(r"\D*", lower)
    first = f"{how[0]}{gap}{lower[how.end() :]}" if how is not None else lower
    return (before[0] if before is not None else "") + comma.join([first, *kept])


def _lower(one: Requirement, oldest: Release) -> str:
    """From which release on a library is asked for."""
    if one.file == "Pipfile" and one.name == PYTHON:
        return dotted(one.least.release)
    if one.name == PYTHON and one.command:
        return f"={dotted(one.least.release)}"
    if one.name == PYTHON:
        how = "^" if any(bound.how in CARETS for bound in one.bounds) else ">="
        return f"{how}{dotted(one.least.release)}"
    if one.name in JAX:
        return f">={dotted(oldest)}"
    pinned = [bound.release for bound in one.bounds if bound.how not in UPPER]
    return f">={dotted(max([one.least.release, *pinned]))}"


def _kept(one: Requirement, oldest: Release) -> Iterator[Bound]:
    """The upper bounds that still let something in."""
    least = oldest if one.name in JAX else one.least.release
    for bound in one.bounds:
        if (
            bound.how in UPPER
            and not bound.any_patch
            and bound.release > least
            and not bound.leaves_out(one.least.beside_newest)
        ):
            yield bound
