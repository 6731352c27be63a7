"""What `fix` has to tell, as the plain data that every one of its reports is written from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jaxmigrate.migrate.plan import Assumed, NamePlan, SitePlan
from jaxmigrate.program.kept import KEPT
from jaxmigrate.program.trust import GRADES, Grade
from jaxmigrate.reports.site_layouts import grade_of
from jaxmigrate.sources import STDIN, SourceError
from jaxmigrate.terminal import plural
from jaxmigrate.verify.model import Evidence

CAUTION = (
    "arrays that are equal on all devices in a short run may differ later: observe a run that is long enough for them "
    "to differ, and `verify` a longer one before you merge"
)
Outcome = Literal["written", "shown", "unchanged", "withheld", "failed"]


@dataclass(frozen=True)
class FixedFile:
    """What became of one file.

    Attributes:
        path: The file as the user named it.
        outcome: `written`; `shown` where only a diff or a check was asked for; `unchanged`; `withheld` where it did
            not verify; `failed` where it could not be written.
        sites: Its mapped sites, with those of a withheld file marked as left.
        diff: Its unified diff, empty where nothing would change.
        encoding: The encoding of the file and thus of its diff.
        names: Its uses of names that JAX has renamed or removed.
        callers: Files that import it, were not among the paths given, and stay as they are.
        remark: What changes in a file that is no program.
    """

    path: str
    outcome: Outcome
    sites: tuple[SitePlan, ...]
    diff: bytes = b""
    encoding: str = "utf-8"
    names: tuple[NamePlan, ...] = ()
    callers: tuple[str, ...] = ()
    remark: str = ""

    @property
    def is_new(self) -> bool:
        """Whether the file was not there before."""
        return self.diff.startswith(b"--- /dev/null")

    @property
    def diff_text(self) -> str:
        """The diff as text, for reports."""
        return self.diff.decode(self.encoding, "replace")


def callers_of(files: Sequence[FixedFile]) -> tuple[str, ...]:
    """The files beside some that import what changes in them; one that did not verify was given all the same."""
    given = {os.path.normpath(file.path) for file in files}
    changed = [file for file in files if file.outcome in ("written", "shown")]
    return tuple(sorted({caller for file in changed for caller in file.callers} - given))


@dataclass(frozen=True)
class FixResult:
    """The outcome of `fix`.

    Attributes:
        files: The files that parse, in the order in which they were named.
        errors: What could not be read, parsed or written.
        notebooks: Remarks on notebooks: which were skipped, and what else their authors have to know.
        evidence: The last verification, where one was asked for.
        unused: Declarations that nothing used, in words.
    """

    files: Sequence[FixedFile]
    errors: Sequence[SourceError] = ()
    notebooks: Sequence[str] = ()
    evidence: Evidence | None = None
    unused: Sequence[str] = ()

    @property
    def sites(self) -> tuple[SitePlan, ...]:
        """Every mapped site."""
        return tuple(site for file in self.files for site in file.sites)

    @property
    def left(self) -> tuple[SitePlan, ...]:
        """The sites that stay pmap although nobody asked for it."""
        return tuple(site for site in self.sites if site.status == "left" and site.code != KEPT)

    @property
    def kept(self) -> tuple[SitePlan | NamePlan, ...]:
        """The sites and old names that stay because a comment asks for it."""
        every: tuple[SitePlan | NamePlan, ...] = (*self.sites, *self.names)
        return tuple(sorted((one for one in every if one.status == "left" and one.code == KEPT), key=_in_order))

    @property
    def rewritten(self) -> tuple[SitePlan, ...]:
        """The sites that become shard_map."""
        return tuple(site for site in self.sites if site.status == "rewritten")

    @property
    def grade(self) -> Grade:
        """The weakest evidence that the rewrite rests on."""
        found = [*(grade_of(site) for site in self.rewritten), *(one.grade for one in self.assumed)]
        return max(found, key=GRADES.index, default="proven")

    @property
    def assumed(self) -> tuple[Assumed, ...]:
        """What the rewrite leans on beside proof, in the order of files and lines."""
        every = dict.fromkeys(one for site in self.rewritten for one in site.assumed)
        return tuple(sorted(every, key=lambda one: (one.place.rpartition(":")[0], one.line, one.says)))

    @property
    def caution(self) -> str:
        """What to do about a rewrite that rests on what was observed; empty where none does."""
        return CAUTION if any(one.grade == "observed" for one in self.assumed) else ""

    @property
    def names(self) -> tuple[NamePlan, ...]:
        """Every use of a name that JAX has renamed or removed."""
        return tuple(name for file in self.files for name in file.names)

    @property
    def left_names(self) -> tuple[NamePlan, ...]:
        """The old names that stay although nobody asked for it."""
        return tuple(name for name in self.names if name.status == "left" and name.code != KEPT)

    @property
    def all_left(self) -> tuple[SitePlan | NamePlan, ...]:
        """What a person has to look at, in the order of files and lines."""
        found: list[SitePlan | NamePlan] = [*self.left, *self.left_names]
        return tuple(sorted(found, key=_in_order))

    @property
    def changed(self) -> tuple[FixedFile, ...]:
        """The files that are, or would be, written."""
        return tuple(file for file in self.files if file.outcome in ("written", "shown"))

    @property
    def callers(self) -> tuple[str, ...]:
        """The files that import what is rewritten, were not among the paths given, and stay as they are."""
        return callers_of(self.files)

    def summary(self) -> str:
        """One line such as `12 sites in 4 files: 11 rewritten, 1 left`, or `11 would be rewritten`."""
        if self.names and not self.sites:
            return self._names().removeprefix("; ")
        files = sum(1 for file in self.files if file.sites)
        counts = f"{len(self.rewritten)} {self._would}rewritten, {len(self.left)} left{self._kept(self.sites)}"
        return f"{plural(len(self.sites), 'site')} in {plural(files, 'file')}: {counts}{self._names()}{self._leaning()}"

    def _leaning(self) -> str:
        """That something is not proven."""
        told = [
            plural(count, word)
            for grade, word in (("declared", "declaration"), ("likely", "assumption"), ("observed", "observation"))
            if (count := sum(one.grade == grade for one in self.assumed))
        ]
        return f"; not proven: depends on {' and '.join(told)}" if self.grade != "proven" else ""

    @property
    def _would(self) -> str:
        """That nothing was written, where a diff or a check was all that was asked for."""
        shown = any(file.outcome == "shown" and file.path != STDIN for file in self.files)
        return "would be " if shown else ""

    def _names(self) -> str:
        if not self.names:
            return ""
        replaced = sum(1 for name in self.names if name.status == "replaced")
        counts = f"{replaced} {self._would}replaced, {len(self.left_names)} left{self._kept(self.names)}"
        return f"; {plural(len(self.names), 'old name')}: {counts}"

    def _kept(self, among: Sequence[SitePlan] | Sequence[NamePlan]) -> str:
        kept = sum(1 for one in self.kept if one in among)
        return f", {kept} kept" if kept else ""


def _in_order(one: SitePlan | NamePlan) -> tuple[str, int, int, int]:
    return one.path, one.cell, one.line, one.column
