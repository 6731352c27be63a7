"""Notebooks as programs that a verification runs: their cells in order, without what only IPython can do."""

from __future__ import annotations

import importlib.util
import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from jaxmigrate.config import CommandConfig
from jaxmigrate.records import replace
from jaxmigrate.sources import NOTEBOOK, SourceError, SourceFile, shown_path
from jaxmigrate.sources.notebooks import Notebook, pieces
from jaxmigrate.terminal import plural

RUNNER = "jaxmigrate_child.notebook"
CELLS = ".{}.cells.json"


def as_command(one: CommandConfig, any_python: bool) -> CommandConfig:
    """A command that is a notebook as the command that runs its cells; any other command as it is.

    `any_python` says that the interpreter is chosen from the PATH, as another one of the user's may run the original.
    """
    if len(one.command) != 1 or not one.command[0].endswith(NOTEBOOK):
        return one
    own = importlib.util.find_spec("jax") is not None and not any_python
    return replace(one, command=(sys.executable if own else "python", "-m", RUNNER, one.command[0]))


def in_words(command: Sequence[str]) -> str:
    """A command as a person would name it."""
    return f"the cells of {command[-1]}" if RUNNER in command else shlex.join(command)


def laid_out(source: SourceFile, name: str, text: str) -> dict[str, bytes]:
    """The files that stand for a source with a text in a copy of the project, by path.

    A notebook has its cells laid beside it for the runner. It is itself written with the text too, for a command that
    runs notebooks in its own way, unless the text has marks within a magic.
    """
    if not isinstance(source.notebook, Notebook):
        return {name: source.encode(text)}
    try:
        raw = source.encode(text)
        shown = {number: after for number, _, after in source.notebook.sources(text)}
    except SourceError:
        raw, shown = source.raw, {}
    may_fail = source.notebook.may_fail
    cells = [[number, code, number in may_fail, shown.get(number, code)] for number, code in pieces(text)]
    path = PurePosixPath(name)
    beside = path.with_name(CELLS.format(path.name)).as_posix()
    return {name: raw, beside: json.dumps(cells).encode("utf-8")}


def unrun_lines(command: Sequence[str], sources: Mapping[str, SourceFile]) -> Iterator[str]:
    """What a run of a notebook leaves out, in a sentence."""
    if RUNNER not in command:
        return
    name = command[-1]
    for source in sources.values():
        if (
            isinstance(source.notebook, Notebook)
            and source.path is not None
            and source.path.absolute() == Path(name).absolute()
        ):
            unrun = source.notebook.unrun
            if unrun:
                cell, line = unrun[0]
                yield (
                    f"{plural(len(unrun), 'magic and shell line')} of {source.name} did nothing in these runs, "
                    f"such as `{line}` ({shown_path(source.name, cell)})"
                )
