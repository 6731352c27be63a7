"""What will become of each mapped site, and why: plain data, decided before any text is touched."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from jaxmigrate.program.observed import Fact
from jaxmigrate.program.trust import Grade
from jaxmigrate.sources import shown_path

Layout = Literal["stacked", "broadcast", "static", "split", "replicated", "unknown"]
Status = Literal["rewritten", "left"]


@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """The layout of one argument or output of a site: its name, or its position where it has none in sight.

    `reason` says why it stays stacked, where global arrays were asked for; `grade` is that of the evidence for any
    other layout, and empty where it stays as it was. `advice` is what to do about a stacked one, `story` what
    else is known of it, `facts` what was observed of one that is not. `cause` is the anchor of the reason's cause in
    docs/stacked.md, and `topic` the reason without its place and without names that only one site has.
    """

    name: str
    layout: Layout
    reason: str = ""
    grade: Grade | Literal[""] = ""
    advice: str = ""
    story: tuple[str, ...] = ()
    facts: frozenset[Fact] = frozenset()
    cause: str = ""
    topic: str = ""

    def to_json(self) -> dict[str, str]:
        """The layout as `fix --report` writes it."""
        more = {"grade": self.grade, "reason": self.reason, "cause": self.cause, "advice": self.advice}
        return {"name": self.name, "layout": self.layout, **{key: text for key, text in more.items() if text}}


@dataclass(frozen=True, slots=True)
class Assumed:
    """What a rewrite leans on beside proof.

    Attributes:
        grade: `declared` by the user, `likely`, or `observed` in a run.
        key: The key of `[tool.jaxmigrate]` under which it can be declared.
        name: What to declare there.
        says: The assumption in words.
        path: The file where it matters.
        line: The line there, 0 for the whole file.
        fact: What was observed, where that is what it is.
    """

    grade: Grade
    key: str
    name: str
    says: str
    path: Path
    line: int
    fact: Fact = ()

    @property
    def place(self) -> str:
        """Where it matters, as `path:line`."""
        shown = os.path.relpath(self.path) if self.path.is_absolute() else str(self.path)
        return f"{shown}:{self.line}" if self.line else shown

    def __str__(self) -> str:
        return f"{'assumed' if self.grade == 'likely' else self.grade}: {self.says} ({self.place})"

    def to_json(self) -> dict[str, Any]:
        """The assumption as `fix --report` writes it."""
        path, _, _ = self.place.partition(":")
        declaration = {"key": self.key, "name": self.name}
        return {"grade": self.grade, "says": self.says, "path": path, "line": self.line, "declaration": declaration}


class Placed:
    """What stands at a place of a file, or of a notebook's cell."""

    __slots__ = ()
    path: str
    line: int
    column: int
    cell: int

    @property
    def place(self) -> str:
        """Where it stands, as `path:line`."""
        return f"{shown_path(self.path, self.cell)}:{self.line}"

    def place_json(self) -> dict[str, Any]:
        """The place as `fix --report` writes it."""
        cell = {"cell": self.cell} if self.cell else {}
        return {"path": self.path, **cell, "line": self.line, "column": self.column}


@dataclass(frozen=True, slots=True)
class SitePlan(Placed):
    """One mapped site.

    Attributes:
        id: Names the site in reports and marks: `path:line:column`.
        path: The file as the user named it.
        line: Line from 1.
        column: Column in characters from 1.
        form: How it stands: `call`, `decorator`, `partial`, `alias` or `value`.
        axis: The axis name, or its source where it is only known at run time; None where there is none.
        mapped: The source of what is mapped, empty where that is not in sight.
        status: Whether it is rewritten or left.
        code: The rule code of the reason, where left.
        reason: What keeps it from being rewritten and what the user can do, where left.
        arguments: Layouts of the arguments.
        outputs: Layouts of the outputs.
        cell: The cell of a notebook that the line is counted in, from 1 among all its cells; 0 elsewhere.
        written: What maps it after the rewrite: `jax.shard_map`, or the function of the project that chooses its mesh
            at each call.
        assumed: What its layouts lean on beside proof.
    """

    id: str
    path: str
    line: int
    column: int
    form: str
    axis: str | None
    mapped: str
    status: Status
    code: str = ""
    reason: str = ""
    arguments: tuple[ArrayLayout, ...] = ()
    outputs: tuple[ArrayLayout, ...] = ()
    cell: int = 0
    written: str = ""
    assumed: tuple[Assumed, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The site as `fix --report` writes it."""
        return {
            "id": self.id,
            **self.place_json(),
            "form": self.form,
            "axis": self.axis,
            "mapped": self.mapped,
            "status": self.status,
            **({"written": self.written} if self.written else {}),
            **({"code": self.code, "reason": self.reason} if self.status == "left" else {}),
            "arguments": [a.to_json() for a in self.arguments],
            "outputs": [o.to_json() for o in self.outputs],
            "assumptions": [one.to_json() for one in self.assumed],
        }


@dataclass(frozen=True, slots=True)
class NamePlan(Placed):
    """One use of a name that JAX has renamed or removed.

    Attributes:
        path: The file as the user named it.
        line: Line from 1, in the file as it was.
        column: Column in characters from 1, in the file as it was unless that line was rewritten for a map.
        name: The old name in full.
        replacement: The new one, empty where there is none.
        status: Whether it is replaced or left.
        code: The rule that explains it.
        reason: Why it is left and what the user can do.
        cell: The cell of a notebook that the line is counted in, from 1 among all its cells; 0 elsewhere.
    """

    path: str
    line: int
    column: int
    name: str
    replacement: str
    status: Literal["replaced", "left"]
    code: str
    reason: str = ""
    cell: int = 0

    def to_json(self) -> dict[str, Any]:
        """The use as `fix --report` writes it."""
        return {
            **self.place_json(),
            "name": self.name,
            "replacement": self.replacement,
            "status": self.status,
            "code": self.code,
            **({"reason": self.reason} if self.reason else {}),
        }


@dataclass(frozen=True, slots=True)
class FilePlan:
    """One file: its text before and after, and both with the marks of a verification, where those are asked for.

    `after` equals `before` where nothing is rewritten. `marked_renewed` is `marked_before` with its old names replaced,
    for an original that today's JAX does not run as it is; empty where there are none. `together` are the files, this
    one among them, that make, map and take apart the same global arrays: they are written all or not at all. `callers`
    import this one and were not among the files given, so that they stay as they are. `users` are the files for which
    the rewrite adds this one. `passed_on` are the lines that hand on a map which is rewritten and goes by another name:
    calls of it are out of sight there. `untaken` are the lines of branches that no call in sight takes, which still
    take stacked arrays that are global now. `undonated` are those of maps which say they donate what a call gives by
    keyword: pmap did not, and what is written does not.
    """

    path: str
    before: str
    after: str
    marked_before: str
    marked_after: str
    sites: tuple[SitePlan, ...]
    names: tuple[NamePlan, ...] = ()
    marked_renewed: str = ""
    together: frozenset[str] = frozenset()
    callers: tuple[Path, ...] = ()
    users: frozenset[str] = frozenset()
    passed_on: tuple[int, ...] = ()
    untaken: tuple[int, ...] = ()
    undonated: tuple[int, ...] = ()

    @property
    def new(self) -> bool:
        """Whether the rewrite adds the file."""
        return bool(self.users)

    @property
    def changed(self) -> bool:
        """Whether the file is rewritten."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class Plan:
    """What `fix` will do to all files that were named."""

    files: tuple[FilePlan, ...]

    @property
    def sites(self) -> tuple[SitePlan, ...]:
        """Every mapped site of every file."""
        return tuple(site for file in self.files for site in file.sites)
