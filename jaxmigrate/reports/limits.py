"""What a verification does not say: for the person who takes its green for more than it is."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from jaxmigrate.sources import shown_path
from jaxmigrate.terminal import plural
from jaxmigrate.verify.model import Evidence, SiteInfo, Verdict

SHOWN = 5


def limits(evidence: Evidence) -> Iterator[str]:
    """What was not compared, one sentence each, backticks around code."""
    parts = evidence.parts or (evidence,)
    commands = " and ".join(dict.fromkeys(f"`{shlex.join(part.command)}`" for part in parts))
    yield (
        f"Only the values that {commands} computes were compared{_in_calls(evidence)}, not other inputs, more steps or "
        "code that was not run."
    )
    unseen = [place_of(one.site) for one in evidence.sites if one.verdict is Verdict.NOT_EXERCISED]
    if unseen:
        yield f"Not reached, so nothing is known of it: {listed(unseen)}."
    if unlike := _unknown(evidence):
        yield f"Not compared, because it is not known how the rewritten program holds it: {listed(unlike)}."
    if evidence.passed_on:
        yield (
            f"{listed(evidence.passed_on)} {'hands' if len(evidence.passed_on) == 1 else 'hand'} on a rewritten map: "
            f"calls of it that {commands} did not make were not compared."
        )
    within = [place_of(one.site) for one in evidence.sites if one.verdict is Verdict.WITHIN]
    if within:
        yield f"Equal only as far as rounding allows, not in every bit: {listed(within)}."
    if evidence.outputs_equal is None:
        yield "What the programs print and write was not compared."
    platform = next((run.versions["platform"] for run in evidence.runs if "platform" in run.versions), "cpu")
    if platform == "cpu":
        where = plural(max(part.devices * part.processes for part in parts), "simulated CPU device")
        yield f"The programs ran on {where}: memory, speed and whatever else real devices add were not tested."


def _unknown(evidence: Evidence) -> list[str]:
    """The arguments and results whose shapes no known layout relates, of sites that are said to agree."""
    return [
        f"{place_of(one.site)} {array.name or 'result'}"
        for one in evidence.sites
        for array in (*one.arguments, *one.results)
        if one.verdict.ok and "unknown" in array.layout
    ]


def briefly(evidence: Evidence) -> str:
    """The same in a line for the terminal; empty where nothing was compared."""
    calls = _calls(evidence)
    if not calls:
        return ""
    told = [f"inputs and steps other than these {plural(calls, 'call')} on {_inputs(evidence)}", *_named(evidence)]
    if evidence.untouched:
        told.append(f"{plural(len(evidence.untouched), 'site')} not run, in files that did not change")
    return f"not covered: {'; '.join(told)}"


def _named(evidence: Evidence) -> Iterator[str]:
    if unlike := _unknown(evidence):
        yield f"arguments or results in layouts that are not known: {listed(unlike)}"
    if evidence.passed_on:
        yield f"further calls of the rewritten maps that are handed on at {listed(evidence.passed_on)}"


def untouched(evidence: Evidence) -> str:
    """What stands over the sites that are neither reached nor changed; empty where there are none."""
    if not evidence.untouched:
        return ""
    sites = plural(len(evidence.untouched), "site")
    return f"{sites} in files that did not change: not run and not counted"


def revisions_line(evidence: Evidence) -> str:
    """Which revisions were compared, where that is known."""
    return ", ".join(f"{side} {told}" for side, told in evidence.revisions.items())


def _in_calls(evidence: Evidence) -> str:
    calls = _calls(evidence)
    return f", in {plural(calls, 'call')} on {_inputs(evidence)}" if calls else ""


def _calls(evidence: Evidence) -> int:
    return sum(site.calls for site in evidence.sites)


def _inputs(evidence: Evidence) -> str:
    return plural(sum(site.inputs for site in evidence.sites), "distinct input")


def place_of(site: SiteInfo) -> str:
    """Where a site stands."""
    return f"{shown_path(site.path, site.cell)}:{site.line}" if site.path else site.id


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(f"`{name}`" for name in names[:SHOWN])
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown
