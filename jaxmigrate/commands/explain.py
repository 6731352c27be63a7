"""`fix --explain FILE:LINE`: all that is known of the arrays of one map."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from jaxmigrate.commands import Failure
from jaxmigrate.flow.layout.reasons import stacked_cause
from jaxmigrate.migrate.plan import ArrayLayout, SitePlan
from jaxmigrate.reports.fix_result import FixResult
from jaxmigrate.sources import shown_path

_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


def explained(result: FixResult, path: str, line: int) -> Iterator[str]:
    """The lines of text about the maps in a line of a file.

    Raises:
        Failure: There is none.
    """
    own = [site for site in result.sites if _is_file(site, path)]
    found = [site for site in own if site.line == line]
    if not found:
        places = ", ".join(dict.fromkeys(site.place for site in own))
        raise Failure(f"no map stands at {path}:{line}{f'; that file has maps at {places}' if places else ''}")
    for site in found:
        yield from _of_site(site)


def _is_file(site: SitePlan, path: str) -> bool:
    own = shown_path(site.path, site.cell)
    return path == own or Path(site.path).absolute() == Path(path).absolute()


def _of_site(site: SitePlan) -> Iterator[str]:
    axis = f' over "{site.axis}"' if site.axis else ""
    yield f"{site.place}: maps {site.mapped or 'a function that fix cannot find'}{axis}"
    if site.status == "left":
        yield f"  stays pmap: {site.reason} ({site.code})"
    for kind, arrays in (("argument", site.arguments), ("result", site.outputs)):
        for array in arrays:
            yield from _of_array(kind, array)
    if site.assumed:
        yield "  rests on"
        yield from (f"    {one}" for one in site.assumed)


def _of_array(kind: str, array: ArrayLayout) -> Iterator[str]:
    name = kind if array.name == "*" else f"{kind} {array.name}"
    yield f"  {name}: {array.layout}{f', {array.grade}' if array.grade else ''}"
    if array.reason:
        cause = stacked_cause(array.cause)
        advice = array.advice or (_LINK.sub(r"\1", cause.advice) if cause is not None else "")
        yield from (f"    {one}" for one in (array.reason, *array.story))
        if advice:
            yield f"    what to do: {advice}"
