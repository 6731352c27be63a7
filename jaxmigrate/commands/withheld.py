"""Why `fix` leaves a file that it could rewrite."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.commands.planning import PlannedFile
from jaxmigrate.migrate import FilePlan
from jaxmigrate.migrate.wanted import Place
from jaxmigrate.verify.model import Evidence

# Places of sites that a verification speaks against, with the reason.
Held = Mapping[tuple[Path, Place], str]
Replan = Callable[[Held, Collection[str]], list[PlannedFile]]


class Withheld(NamedTuple):
    """The reason why a file is not written, and by id that of each of its sites that did not verify."""

    reason: str
    sites: Mapping[str, str]

    def of(self, site: str) -> str:
        """The reason to tell of a site: its own, else that of the file that it stands in."""
        return self.sites.get(site, self.reason)


class Largest(NamedTuple):
    """What may be written: the files as they are planned then, by name why some are not, and the last verification."""

    planned: list[PlannedFile]
    withheld: Mapping[str, Withheld]
    evidence: Evidence | None


def left_with(names: Collection[str], plans: Iterable[FilePlan]) -> dict[str, Withheld]:
    """The files that cannot be written without those of some names: they make or take the same global arrays."""
    found: dict[str, Withheld] = {}
    for plan in plans:
        others = sorted(plan.together.intersection(names))
        if plan.changed and plan.path not in names and others:
            told = f"was not rewritten, because {others[0]} was not, with which it shares arrays"
            found[plan.path] = Withheld(told, {})
    return found
