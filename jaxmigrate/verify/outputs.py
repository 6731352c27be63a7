"""What two programs print and the files that they write: what differs there is part of the verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from jaxmigrate.verify.model import SiteInfo
from jaxmigrate.verify.recording import Recording
from jaxmigrate.verify.texts import Difference, difference, shared_difference
from jaxmigrate.verify.workshop import Run
from jaxmigrate.verify.written import files_difference

# What Gloo writes piece by piece, so that two of its threads can tangle their messages: the pieces, and the rest.
_GLOO_STARTS = "[Gloo] Rank "
_GLOO_PIECES = re.compile(
    r"(?:\[Gloo\] Rank |is connected to|peer ranks\.|Expected number of connected peer ranks is :|[\d\s])*"
)
# What loggers put in front of a message, and lines of warnings.
_PREFIX = re.compile(r"^(?:[IWEFD]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [\w./-]+:\d+\] |.*?\.py:\d+:? )")


def output_differences(
    original: Run, rewritten: Run, again: Run | None, boot: Path, sites: Mapping[str, SiteInfo], *, rounded: bool
) -> tuple[str, ...]:
    """What the rewritten program prints, logs or writes in another way, the first of each, as a sentence.

    `again` is another run of the original: the same once more, or with moved arguments. `rounded` says that the
    programs are not bitwise equal.
    """
    python = rewritten.summary.versions.get("executable", "") or original.summary.versions.get("executable", "")
    found = []
    texts = [
        run.stdout.read_text(errors="replace") if run is not None else None for run in (original, rewritten, again)
    ]
    ours, theirs, third = (printed(text) if text is not None else None for text in texts)
    assert ours is not None
    assert theirs is not None
    told = difference(ours, theirs, third, rounded=rounded)
    if told is not None:
        found.append(f"it prints something else: {told}{_place(texts[0] or '', told, original.recording, sites)}")
    logs = [_logged(run) if run is not None else None for run in (original, rewritten, again)]
    told = shared_difference(logs[0] or [], logs[1] or [], logs[2], rounded=rounded)
    if told is not None:
        found.append(f"it logs something else: {str(told).partition(': ')[2]}")
    files = files_difference(
        original.files, rewritten.files, again.files if again is not None else None, python, boot, rounded=rounded
    )
    return (*found, f"it writes something else: {files}") if files else tuple(found)


def printed(text: str) -> list[str]:
    """The lines that a program has printed, without those of the library that connects its processes."""
    lines, owed, begun = [], 0, ""
    for line in text.splitlines():
        own, starts, rest = line.partition(_GLOO_STARTS)
        # Two messages that begin on one line have two ends of lines between them.
        if owed and _GLOO_PIECES.fullmatch(line):
            owed += line.count(_GLOO_STARTS) - 1
        elif starts and (not own or _GLOO_PIECES.fullmatch(starts + rest)):
            owed += line.count(_GLOO_STARTS) - 1
            # A line that the program had begun goes on after the message, which ends with one of its own.
            begun += own
        else:
            lines.append(begun + line)
            begun = ""
    return [*lines, begun] if begun else lines


def _logged(run: Run) -> list[str]:
    """What a program has logged, without where in which file: that may be another line there."""
    lines = run.stderr.read_text(errors="replace").splitlines()
    return [_PREFIX.sub("", line) for line in lines if "Warning: " not in line]


def _place(text: str, told: Difference, recording: Recording, sites: Mapping[str, SiteInfo]) -> str:
    """After which mapped call of the original a line was printed."""
    at = text.find(told.original) if text.count(told.original) == 1 else _offset(text, told.number)
    calls = [call for call in recording.calls() if call.printed <= len(text[:at].encode()) and not call.traced]
    if not calls:
        return ""
    last = max(calls, key=lambda call: (call.printed, call.order))
    return f", after call {last.number} of {sites.get(last.site, SiteInfo(last.site))}"


def _offset(text: str, number: int) -> int:
    """Where a line begins, counted from 1."""
    return sum(len(line) for line in text.splitlines(keepends=True)[: number - 1])
