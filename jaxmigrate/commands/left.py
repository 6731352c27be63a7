"""How `fix` tells what it left: a reason that many places share is told once, with the places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from jaxmigrate.migrate.plan import NamePlan, SitePlan
from jaxmigrate.migrate.unhandled import WITHHELD
from jaxmigrate.terminal import plural

# So many places with one reason are told one by one.
_MOST_ALIKE = 3
_MOST_FILES = 8


def left_lines(left: Sequence[SitePlan | NamePlan]) -> Iterator[str]:
    """A line for each place with its reason; of what was withheld for one reason, the first place and the others."""
    alike = Counter(one.reason for one in left if one.code == WITHHELD)
    told: set[str] = set()
    for one in left:
        if one.code != WITHHELD or alike[one.reason] <= _MOST_ALIKE:
            yield f"{one.place}:{one.column} {one.code} {one.reason}"
        elif one.reason not in told:
            told.add(one.reason)
            yield f"{one.place}:{one.column} {one.code} {one.reason}"
            others = [other for other in left if other.code == WITHHELD and other.reason == one.reason][1:]
            yield f"  likewise {plural(len(others), 'more place')}: {_listed(others)}"


def _listed(places: Sequence[SitePlan | NamePlan]) -> str:
    """The places, each file once."""
    lines: dict[str, dict[str, None]] = {}
    for one in places:
        file, _, line = one.place.rpartition(":")
        lines.setdefault(file, {})[line] = None
    told = [f"{file}:{','.join(found)}" for file, found in lines.items()]
    more = [f"and {plural(len(told) - _MOST_FILES, 'more file')}"] if len(told) > _MOST_FILES else []
    return " ".join([*told[:_MOST_FILES], *more])
