"""Examines the pieces of one or several projects, in several processes where there are enough files."""

from __future__ import annotations

import gc
import importlib
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.lint_run.cache import Cache
from jaxmigrate.lint_run.examine import Examined, examine, workers
from jaxmigrate.lint_run.pieces import Piece


class Work(NamedTuple):
    """A piece to examine, and which project's names and cache go with it."""

    project: int
    piece: Piece


class Surroundings(NamedTuple):
    """What the pieces of one project share."""

    names: Mapping[Path, str]
    cache: Cache | None


def examine_all(works: Sequence[Work], surroundings: Sequence[Surroundings]) -> list[Examined]:
    """The outcome of each piece, in order."""
    processes = min(workers(sum(len(work.piece.files) for work in works)), len(works))
    if processes < 2:
        return [examine(piece, *surroundings[project]) for project, piece in works]
    return _divided(works, surroundings, processes)


def _divided(works: Sequence[Work], surroundings: Sequence[Surroundings], processes: int) -> list[Examined]:
    """The longest first, so that no process is left alone with one at the end.

    Where processes can be forked each lives for one piece: its end gives the memory back faster than any collection.
    """
    import multiprocessing

    forks = sys.platform == "linux"
    if forks:
        importlib.import_module("jaxmigrate.linting")  # once, for all children
        gc.freeze()
    order = sorted(range(len(works)), key=lambda number: -len(works[number].piece.files))
    context = multiprocessing.get_context("fork" if forks else "spawn")
    with context.Pool(processes, _begin, (surroundings,), maxtasksperchild=1 if forks else None) as pool:
        found = dict(pool.imap_unordered(_one, [(number, works[number]) for number in order]))
    return [found[number] for number in range(len(works))]


_surroundings: Sequence[Surroundings] = ()


def _begin(surroundings: Sequence[Surroundings]) -> None:
    global _surroundings  # noqa: PLW0603 - what a process of the pool is started with
    _surroundings = surroundings
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears of it too, and ends the pool
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.setrecursionlimit(10_000)
    gc.disable()


def _one(numbered: tuple[int, Work]) -> tuple[int, Examined]:
    number, work = numbered
    found = examine(work.piece, *_surroundings[work.project])
    if sys.platform != "linux":
        gc.collect()
    return number, found
