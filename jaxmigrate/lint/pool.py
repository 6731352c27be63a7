"""Examines the pieces of one or several projects, in several processes where there are enough files."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.lint.cache import UNCHANGED, Cache, Examined
from jaxmigrate.lint.examine import examine, workers
from jaxmigrate.lint.work_units import Piece


class Work(NamedTuple):
    """A piece to examine, and which project's names and cache go with it."""

    project: int
    piece: Piece


class Surroundings(NamedTuple):
    """What the pieces of one project share; the files at the paths of `changed` are taken to have that content."""

    names: Mapping[Path, str]
    cache: Cache | None
    changed: Mapping[Path, bytes] = UNCHANGED


def examine_all(works: Sequence[Work], surroundings: Sequence[Surroundings]) -> list[Examined]:
    """The outcome of each piece, in order."""
    processes = min(workers(sum(len(work.piece.files) for work in works)), len(works))
    if processes < 2:
        return [examine(piece, *surroundings[project]) for project, piece in works]
    return _divided(works, surroundings, processes)


def _divided(works: Sequence[Work], surroundings: Sequence[Surroundings], processes: int) -> list[Examined]:
    """The longest first, so that no process is left alone with one at the end."""
    order = sorted(range(len(works)), key=lambda number: -len(works[number].piece.files))
    found = dict((_forked if sys.platform == "linux" else _spawned)(order, works, surroundings, processes))
    return [found[number] for number in range(len(works))]


# Where processes can be forked, each lives for one piece: its end gives the memory back faster than any collection


def _forked(
    order: Sequence[int], works: Sequence[Work], surroundings: Sequence[Surroundings], processes: int
) -> Iterator[tuple[int, Examined]]:
    import select

    from jaxmigrate.lint.linting import prepare

    prepare()  # once, for all children
    gc.freeze()
    waiting = list(reversed(order))
    running: dict[int, Child] = {}
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                child = _start(waiting[-1], works[waiting[-1]], surroundings)
                running[child.pipe] = child
                waiting.pop()
            for pipe in select.select(list(running), [], [])[0]:
                part = os.read(pipe, 1 << 20)
                running[pipe].parts.append(part)
                if not part:
                    yield _ended(running.pop(pipe))
    finally:
        for child in running.values():
            os.kill(child.process, signal.SIGKILL)
            os.waitpid(child.process, 0)
            os.close(child.pipe)
        gc.unfreeze()


class Child(NamedTuple):
    """A process at work on a piece, and the end of the pipe that its result comes out of."""

    process: int
    pipe: int
    number: int
    parts: list[bytes]


def _start(number: int, work: Work, surroundings: Sequence[Surroundings]) -> Child:
    pipe, into = os.pipe()
    process = os.fork()
    if process:
        os.close(into)
        return Child(process, pipe, number, [])
    try:
        gc.disable()  # the end of the process gives everything back
        _begin(surroundings)
        with os.fdopen(into, "wb") as stream:
            stream.write(_result_of(work))
    finally:
        os._exit(0)


def _result_of(work: Work) -> bytes:
    """The outcome, or the exception that there was instead, for the parent to raise."""
    import pickle

    try:
        return pickle.dumps(examine(work.piece, *_surroundings[work.project]))
    except Exception as error:  # noqa: BLE001 - whatever went wrong
        error.add_note(f"while checking {work.piece.files[0][0]} or a file that is checked with it")
        return pickle.dumps(error)


def _ended(child: Child) -> tuple[int, Examined]:
    import pickle

    os.close(child.pipe)
    os.waitpid(child.process, 0)
    content = b"".join(child.parts)
    if not content:
        raise RuntimeError("a lint process died before it was done")
    found = pickle.loads(content)
    if isinstance(found, Exception):
        raise found
    return child.number, found


def _spawned(
    order: Sequence[int], works: Sequence[Work], surroundings: Sequence[Surroundings], processes: int
) -> Iterator[tuple[int, Examined]]:
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    with context.Pool(processes, _begin, (surroundings,)) as pool:
        yield from pool.imap_unordered(_one, [(number, works[number]) for number in order])


_surroundings: Sequence[Surroundings] = ()


def _begin(surroundings: Sequence[Surroundings]) -> None:
    global _surroundings  # noqa: PLW0603 - what a process is started with
    _surroundings = surroundings
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears of it too, and ends its children
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.setrecursionlimit(10_000)
    gc.disable()


def _one(numbered: tuple[int, Work]) -> tuple[int, Examined]:
    number, work = numbered
    found = examine(work.piece, *_surroundings[work.project])
    gc.collect()
    return number, found
