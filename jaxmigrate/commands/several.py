"""Verifies a program that is written for several processes with two of them, after it agreed with one.

Where each process has rows of its own, one process shows nothing of how they are put together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from jaxmigrate.migrate.decide import runs_as_several
from jaxmigrate.terminal import note, say
from jaxmigrate.verify.merge import ONE, TWO
from jaxmigrate.verify.model import CPU, ORIGINAL, Evidence, VerifyRequest

# Processes that wait for each other may do so for ever: the run is given some times what one process took.
_TIMES = 4.0
_LEAST_SECONDS = 60.0


def with_two_processes(
    request: VerifyRequest, told: Evidence, run: Callable[[VerifyRequest], Evidence]
) -> dict[str, Evidence]:
    """What one process has shown, and what two show besides where the program is written for several; by their names.

    An original that does not run with two processes says nothing about its rewrite; one that does not run as one
    process may only run with two.
    """
    may_say_more = (told.ok or told.original_failed) and request.platform == CPU
    file = _written_for_several(request, told) if may_say_more else ""
    if not file or request.devices % 2:
        return {"": told}
    note(f"{file} is written for several processes: verifying with two, of {request.devices // 2} devices each")
    slowest = max(one.seconds for one in told.runs)
    timeout = min(request.timeout, max(_LEAST_SECONDS, _TIMES * slowest))
    found = run(replace(request, processes=2, devices=request.devices // 2, timeout=timeout))
    if told.ok and not found.original_failed:
        return {ONE: told, TWO: found}
    if told.ok:
        return {"": _with_note(told, "verified with one process only: the original does not run with two", found)}
    if found.original_failed:
        return {"": told}
    return {"": _with_note(found, "verified with two processes only: the original does not run with one", told)}


def _with_note(told: Evidence, text: str, failed: Evidence) -> Evidence:
    """With why the other number of processes says nothing."""
    told_why = f"{text} ({failed.message.removesuffix('.')})"
    say(told_why)
    return replace(told, notes=(*told.notes, told_why))


def _written_for_several(request: VerifyRequest, told: Evidence) -> str:
    """The first file that the original loaded and that is written for several processes; empty where none is."""
    loaded = {name for run in told.runs if run.side == ORIGINAL for name in run.files}
    return next((name for name in sorted(loaded) if runs_as_several(_text(name, request))), "")


def _text(name: str, request: VerifyRequest) -> str:
    raw = request.original.get(name)
    if raw is None:
        try:
            raw = (request.root / name).read_bytes()
        except OSError:
            return ""
    return raw.decode(errors="replace")
