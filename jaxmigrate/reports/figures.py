"""How reports write errors and durations."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence

from jaxmigrate.reports.site_layouts import grouped
from jaxmigrate.terminal import plural
from jaxmigrate.verify.model import Evidence, SeenLayout, SiteEvidence, Verdict


def short(number: float) -> str:
    """A number in three digits; 0 for none at all."""
    if not math.isfinite(number):
        return str(number)
    return "0" if number == 0 else f"{number:.3g}"


def largest_errors(found: SiteEvidence) -> tuple[str, str, str]:
    """The largest absolute, relative and ulp error of a site; empty where nothing was, or could be, measured."""
    if found.worst is None and found.verdict is not Verdict.EQUAL:
        return "", "", ""
    return short(found.max_absolute), short(found.max_relative), short(found.max_ulp)


def share_of_bound(found: SiteEvidence) -> str:
    """How much of what rounding allows the differences take at most; empty where that was not measured."""
    if found.verdict is not Verdict.WITHIN or not found.max_used:
        return ""
    return f"{max(1, round(100 * found.max_used))} %"


def seconds(number: float) -> str:
    """A duration as people say it."""
    if number < 60:
        return f"{number:.1f} s"
    return f"{int(number) // 60} min {int(number) % 60} s"


def effort(evidence: Evidence) -> str:
    """How long it took, and on what: `2 runs in 9.8 s on 2 processes of 4 devices`."""
    where = dict.fromkeys(_where(part.devices, part.processes) for part in evidence.parts or (evidence,))
    return f"{plural(len(evidence.runs), 'run')} in {seconds(evidence.seconds)} on {' and '.join(where)}"


def _where(devices: int, processes: int) -> str:
    each = plural(devices, "device")
    return f"{processes} processes of {each}" if processes > 1 else each


def shell_line(environment: Mapping[str, str], command: str) -> str:
    """The command with its environment, as it can be pasted into a shell."""
    return " ".join([*(f"{name}={shlex.quote(value)}" for name, value in environment.items()), command])


def held_differently(found: SiteEvidence) -> bool:
    """Whether any array of a site was held in another layout than pmap's."""
    return any(
        array.layout not in ("stacked", "unchanged", "broadcast") for array in (*found.arguments, *found.results)
    )


def layouts_line(arrays: Sequence[SeenLayout]) -> str:
    """Names with their layouts, those of one layout together."""
    return grouped((array.name or "result", array.layout) for array in arrays)
