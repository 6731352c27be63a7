"""What a project's READMEs and words in its code say of pmap, when fix has left no pmap in the program."""

from __future__ import annotations

import io
import itertools
import os
import re
import tokenize
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from jaxmigrate.commands.planning import PlannedFile
from jaxmigrate.commands.raising import Raised
from jaxmigrate.lint.linting import place
from jaxmigrate.migrate.pmap_names import calls_pmap
from jaxmigrate.program.modules import parse_module
from jaxmigrate.reports.diff import diff_of
from jaxmigrate.reports.fix_result import FixedFile, Outcome
from jaxmigrate.sources import SourceError, read_source, write_source

PAGES = ("README*", "*/README*")
ENDINGS = ("", ".md", ".rst", ".txt")
SAYS = re.compile(r"(?<![\w/-])pmap(?:ped)?(?![\w/-])|(?<![A-Z])PMAP(?![A-Z])")
WORDS = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
MOST = 5  # places that are told


def has_pmap(files: Sequence[PlannedFile]) -> bool:
    """Whether some code is left that calls pmap, or nothing is known of it."""
    if any(site.status == "left" for file in files for site in file.sites):
        return True
    try:
        return any(calls_pmap(parse_module(place(one.source), one.plan.after)) for one in _speaking(files))
    except SyntaxError:
        return True


def reword_pages(root: Path, given: Sequence[str], taken: Collection[str], *, writes: bool) -> Raised:
    """The READMEs in the folders given say shard_map in prose, but those `taken`, which change otherwise here."""
    from jaxmigrate.codemod.said import reworded_prose

    files, errors = list[FixedFile](), list[SourceError]()
    for path in _pages(root, given):
        name = os.path.relpath(path).replace(os.sep, "/")
        if name in taken and not writes:
            continue
        try:
            source = read_source(path, name)
            after = reworded_prose(source.text)
            if after == source.text:
                continue
            if writes:
                write_source(source, after)
        except SourceError as error:
            errors.append(error)
            continue
        outcome: Outcome = "written" if writes else "shown"
        remark = f"{'says' if writes else 'would say'} shard_map where it said pmap"
        files.append(FixedFile(name, outcome, (), diff_of(source, after), source.encoding, remark=remark))
    return Raised(files, errors, [])


def still_said(root: Path, given: Sequence[str], files: Sequence[PlannedFile]) -> Iterator[str]:
    """Where words still say pmap, which a person has to reword."""
    found = [(file.source.name, line) for file in _speaking(files) for line in _words(file.plan.after)]
    for path in _pages(root, given):
        name = os.path.relpath(path).replace(os.sep, "/")
        try:
            lines = read_source(path, name).text.split("\n")
        except SourceError:
            continue
        found += [(name, number) for number, line in enumerate(lines, 1) if SAYS.search(line)]
    if found:
        more = f" and {len(found) - MOST} more" if len(found) > MOST else ""
        each = itertools.groupby(found[:MOST], lambda one: one[0])
        places = ", ".join(f"{name}:{', '.join(str(line) for _, line in lines)}" for name, lines in each)
        yield f"words still say pmap, reword them by hand: {places}{more}"


def _speaking(files: Sequence[PlannedFile]) -> list[PlannedFile]:
    return [file for file in files if re.search("pmap", file.plan.after, re.IGNORECASE)]


def _pages(root: Path, given: Sequence[str]) -> Iterator[Path]:
    folders = [Path(one).absolute() for one in given]
    for path in sorted({one for pattern in PAGES for one in root.absolute().glob(pattern)}):
        hidden = any(part.startswith(".") for part in path.relative_to(root.absolute()).parts)
        if path.is_file() and path.suffix in ENDINGS and not hidden and any(one in path.parents for one in folders):
            yield path


def _words(text: str) -> Iterator[int]:
    """The lines of comments and strings that say pmap."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in WORDS:
                for number, line in enumerate(token.string.split("\n"), token.start[0]):
                    if SAYS.search(line):
                        yield number
    except (tokenize.TokenError, SyntaxError):
        return
