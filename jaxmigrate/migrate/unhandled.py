"""A file that cannot be handled, by a fault of ours, is planned for as if it had not been given: the others go on."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.flow.layout.causes import FAILED
from jaxmigrate.migrate.plan import FilePlan, Plan, SitePlan
from jaxmigrate.program.modules import Project, parse_module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import mapped_sites
from jaxmigrate.sources import SourceError

Source = tuple[str, Path, str]
Planned = tuple[Plan, dict[str, SyntaxError]]
Planner = Callable[[Sequence[Source], Mapping[Path, str], str], Planned]
WITHHELD = "JM490"


class UnhandledError(Exception):
    """Something went wrong, by a fault of ours, in the work on the file at a path."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"in {path}")
        self.path = path


class Unhandled(NamedTuple):
    """A file that a fault of ours had to do with, or that could not be written back, and what was the matter.

    `error` is what was raised.
    """

    name: str
    reason: str
    error: BaseException


@contextmanager
def blamed(path: Path) -> Iterator[None]:
    """Says of whatever goes wrong inside at which file that was."""
    try:
        yield
    except UnhandledError:
        raise
    except Exception as error:
        raise UnhandledError(path) from error


def plan_what_can_be(
    sources: Sequence[Source], beside: Mapping[Path, str], layout: str, plan: Planner
) -> tuple[Plan, dict[str, SyntaxError], list[Unhandled]]:
    """The plan for all files that can be handled, the syntax errors, and the files that a fault of ours had to do with.

    A file that failed counts as one beside: it is read, so that arrays that cross over to it stay stacked. Where that
    fails as well, or what failed cannot be told, all arrays stay stacked, of which the first file tells, and at last
    each file is planned for by itself.
    """
    names = {path: name for name, path, _ in sources}
    failed: dict[Path, BaseException] = {}
    stacked: list[Unhandled] = []
    while True:
        given = [source for source in sources if source[1] not in failed]
        read = {**beside, **{path: text for _, path, text in sources if path in failed}}
        try:
            found, errors = plan(given, read, layout)
            break
        except UnhandledError as error:
            _show()
            if error.path in names and error.path not in failed:
                failed[error.path] = error.__cause__ or error
                continue
            unknown: Exception = error
        except Exception as error:  # noqa: BLE001 - whatever it is, the rest of the project is not to suffer
            _show()
            unknown = error
        if layout != "stacked":
            layout = "stacked"
            at = unknown.path if isinstance(unknown, UnhandledError) else next(iter(names))
            inner = unknown.__cause__ or unknown
            stacked.append(Unhandled(names.get(at, str(at)), _of_all(inner), inner))
            continue
        found, errors, failed = _one_by_one(sources, beside, plan, unknown)
        stacked = [one for one in stacked if one.name not in {names[path] for path in failed}]
        break
    plans = {file.path: file for file in found.files}
    plans |= {name: _untouched(name, path, text, _told(failed[path])) for name, path, text in sources if path in failed}
    files = tuple(plans[name] for name, _, _ in sources if name in plans)
    files += tuple(file for file in found.files if file.new)
    left = [Unhandled(names[path], _told(error), error) for path, error in failed.items()]
    return Plan(files), errors, [*stacked, *left]


def _one_by_one(
    sources: Sequence[Source], beside: Mapping[Path, str], plan: Planner, why: BaseException
) -> tuple[Plan, dict[str, SyntaxError], dict[Path, BaseException]]:
    """The plans for each file by itself, in the layout that leaves its callers as they are."""
    files: list[FilePlan] = []
    errors: dict[str, SyntaxError] = {}
    failed: dict[Path, BaseException] = {}
    for source in sources:
        others = {path: text for _, path, text in sources if path != source[1]}
        try:
            found, wrong = plan([source], {**beside, **others}, "stacked")
        except Exception as error:  # noqa: BLE001 - as above
            failed[source[1]] = (error.__cause__ or error) if isinstance(error, UnhandledError) else why
            continue
        files += found.files
        errors |= wrong
    return Plan(tuple(files)), errors, failed


def _told(error: BaseException) -> str:
    if isinstance(error, SourceError):
        return error.message
    return f"jaxmigrate failed at this file ({_what(error)}), so it was not rewritten; please report it"


def _of_all(error: BaseException) -> str:
    return f"{FAILED} ({_what(error)}), so all arrays stay stacked; please report it"


def _what(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return " ".join(f"{type(error).__name__}: {error}".split()) + where


def _show() -> None:
    """The traceback, for whoever looks for it."""
    if os.environ.get("JAXMIGRATE_DEBUG"):
        traceback.print_exc()


def _untouched(name: str, path: Path, text: str, reason: str) -> FilePlan:
    """The plan that leaves a file, with the places of its sites as far as they can be told."""
    try:
        module = parse_module(path, text)
        sites = mapped_sites(module, Resolver(Project([module])))
    except Exception:  # noqa: BLE001 - what failed may be this very search
        sites = []
    plans = tuple(
        SitePlan(
            id=f"{name}:{site.node.lineno}:{site.node.col_offset + 1}",
            path=name,
            line=site.node.lineno,
            column=site.node.col_offset + 1,
            form="call",
            axis=None,
            mapped="",
            status="left",
            code=WITHHELD,
            reason=reason,
        )
        for site in sites
    )
    return FilePlan(name, text, text, text, text, plans)
