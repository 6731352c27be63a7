"""What a verification is asked and what it answers, as plain data.

The command line builds a `VerifyRequest`, `run.verify` turns it into `Evidence`, and every report is written from
that evidence alone; none of the three has to know how the others work.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum, StrEnum
from pathlib import Path, PurePath
from typing import Any

SCHEMA_VERSION = 1

ORIGINAL = "original"
REWRITTEN = "rewritten"

CPU = "cpu"
GPU = "gpu"

_LABEL = 48


class VerifyError(Exception):
    """The verification could not be carried out at all; its text tells the user why."""


class Verdict(StrEnum):
    """What the runs say about one site, or about the whole program."""

    EQUAL = "bitwise equal"
    WITHIN = "equal within rounding"
    NOT_EXERCISED = "not exercised"
    NONDETERMINISTIC = "nondeterministic"
    DIFFERENT = "different"
    FAILED = "failed"

    @property
    def ok(self) -> bool:
        """Whether this verdict lets a rewrite through."""
        return self in (Verdict.EQUAL, Verdict.WITHIN)

    @property
    def severity(self) -> int:
        """The rank of this verdict; the verdict of a program is the gravest one of its sites and runs."""
        return list(Verdict).index(self)


@dataclass(frozen=True)
class Tolerance:
    """How far two numbers a and b may be apart: atol + rtol * (max(|a|, |b|) + the median magnitude of the leaf).

    It stands in for the program's own rounding where the user says so, or where nothing is known of that. The median
    makes the bound independent of the scale of an array, so that gradients of 1e-8 are held to the same standard as
    losses of 1e3, and robust against single huge entries such as masks.
    """

    rtol: float
    atol: float = 0.0


DEFAULT_TOLERANCES: Mapping[str, Tolerance] = {
    "float64": Tolerance(1e-12),
    "complex128": Tolerance(1e-12),
    "float32": Tolerance(1e-5),
    "complex64": Tolerance(1e-5),
    "float16": Tolerance(2e-3),
    "bfloat16": Tolerance(1.6e-2),
    "float8": Tolerance(1.3e-1),
}


@dataclass(frozen=True, order=True)
class SiteInfo:
    """One marked place where a function is mapped; `id` is the name that its mark carries.

    `arguments` and `outputs` are what the rewrite planned: names, or positions, each with its layout. `counterpart` is
    the place that stands for it in a migration made by hand. `cell` is that of a notebook, 0 elsewhere. Where its file
    is the same on both sides, it is not `changed`, and need not be reached. `reference` is where the map itself stands
    that a run was seen to use by another name here, as `path:line:column`; empty where the site is in sight.
    """

    id: str
    path: str = ""
    line: int = 0
    column: int = 0
    axis: str = ""
    name: str = ""
    arguments: tuple[tuple[str, str], ...] = ()
    outputs: tuple[tuple[str, str], ...] = ()
    counterpart: str = ""
    cell: int = 0
    changed: bool = True
    reference: str = ""

    def __str__(self) -> str:
        file = f"{self.path}:cell {self.cell}" if self.cell else self.path
        place = f"{file}:{self.line}" if self.path else self.id
        return f"{place} ({self.label})" if self.name else place

    @property
    def label(self) -> str:
        """The name of what is mapped, which may be a lambda of many lines, in one short line."""
        name = " ".join(self.name.split())
        return name if len(name) <= _LABEL else f"{name[: _LABEL - 3]}..."


@dataclass(frozen=True)
class VerifyRequest:
    """One program to verify.

    `root` is the project tree that each run gets a copy of, and `cwd` the folder below it in which `command` runs.
    `original` and `migrated` hold the marked text of the files of each side, by path relative to `root`.
    `devices` are those of each process: simulated ones on the platform `cpu`; on `gpu` real ones, 0 for all.
    `timeout`, `idle_timeout` and `collective_timeout` are seconds: of a whole run; of a mapped call during which the
    program computes nothing; and until XLA itself gives a collective up. `twice` runs the original a second time
    before the rewrite, to tell a program that differs from itself. `keep_bytes` bounds the arrays that one run leaves
    on disk. `original_python` names another interpreter for the original side. `by_hand` says that the migrated files
    carry no marks, so that what stands for which site of the original is found out from the runs. `tolerances` are
    bounds by the names of dtypes, or the beginnings of these, in place of what the program's own rounding allows.
    `as_compiled` lets XLA optimise, as it does when the program runs by itself. `unmarked` says that the original has
    no marks either, as a program that maps with shard_map or jit alone: whatever its files map or compile is a site.
    `others` are the changed files that map with shard_map, or compile with shardings, beside marked sites: what is
    called of that is a site too. `passed_on` are the places where the program hands on a map that is rewritten, so that
    nobody sees all of its calls. With `observe`, the original's marks on the host's expressions note what they make.
    """

    root: Path
    command: tuple[str, ...]
    original: Mapping[str, bytes]
    migrated: Mapping[str, bytes]
    sites: tuple[SiteInfo, ...]
    cwd: str = "."
    devices: int = 8
    processes: int = 1
    timeout: float = 600.0
    idle_timeout: float = 8.0
    collective_timeout: float = 60.0
    twice: bool = False
    tolerances: Mapping[str, Tolerance] = field(default_factory=dict)
    original_python: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    seed: int | None = 0
    keep_bytes: int = 256 << 20
    by_hand: bool = False
    platform: str = CPU
    as_compiled: bool = False
    unmarked: bool = False
    others: tuple[str, ...] = ()
    passed_on: tuple[str, ...] = ()
    observe: bool = False


@dataclass(frozen=True)
class Progress:
    """One moment of a verification, for a progress display; `phase` is copying, running, ran or comparing."""

    phase: str
    run: str = ""
    calls: int = 0
    calls_expected: int | None = None
    site: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class LeafError:
    """How far one leaf of one call is from the original, and where it is farthest.

    `index` is the position of what broke its bound farthest, else of the largest error; `original` and `rewritten` are
    the numbers there as text, `error` how far they are apart, and `bound` how far they may be, None where that is not
    said of one element. `used` is the largest part that an element takes of what rounding allows it. `bias` is `step`
    or `argument` where all elements together are off by a part of that, `shift` where an argument is by a constant, and
    `over_calls` that they are so in all calls together, each of which is near enough. `own` is how far the original
    itself moves by one rounding, as a part of its result; `step` says that it was the step from an argument to the
    result in its place that was compared. `reduced` is `mean` or `sum` where the original has that of the rewritten
    slices, or `unsure`, and `mean inside` or `sum inside` where the rewritten one has that of the original's. `ulp`
    counts representable numbers between the two. `factor` is the constant by which the rewritten leaf is larger, where
    there is one; `update_factor` is the same for what the call added to the argument that the leaf replaces, as a step
    of training does to its parameters.
    """

    absolute: float
    relative: float
    ulp: float
    index: tuple[int, ...] = ()
    original: str = ""
    rewritten: str = ""
    within: bool = False
    different_elements: int = 0
    elements: int = 0
    nan_original: int = 0
    nan_rewritten: int = 0
    nan_mismatch: bool = False
    factor: float | None = None
    update_factor: float | None = None
    pattern: str = ""
    bound: float | None = None
    error: float = 0.0
    bias: str = ""
    over_calls: bool = False
    own: float = 0.0
    used: float = 0.0
    step: bool = False
    reduced: str = ""


@dataclass(frozen=True)
class CallDifference:
    """One way in which a call of the rewritten program differs from the same call of the original.

    `kind` is one of value, nan, dtype, shape, structure, scalar, replicas, exception, order, count, unreadable; of
    `replicas`, the copies that the devices hold of one rewritten array differ. `call` counts the calls of the site from
    0, `order` all mapped calls of the program. `where` is input, output or call; `leaf` is the key path of the leaf,
    and `layout` how the rewritten leaf holds the original one's numbers: same, replicated or split. `inputs_equal` is
    None where nothing is known of the inputs.
    """

    site: str
    call: int
    order: int
    where: str
    kind: str
    leaf: str = ""
    original: str = ""
    rewritten: str = ""
    inputs_equal: bool | None = None
    error: LeafError | None = None
    hint: str = ""
    message: str = ""
    layout: str = ""


@dataclass(frozen=True)
class ErrorPoint:
    """The largest errors of one call of a site, for plots over calls."""

    call: int
    absolute: float
    relative: float
    ulp: float


@dataclass(frozen=True)
class SeenLayout:
    """How the rewritten program held one argument or result, or a part of one, by the shapes of both sides.

    `layout` is replicated, split, stacked (as pmap has it), broadcast (a scalar on both sides), unchanged (the same
    shape, without an axis of the devices in front), or unknown. `leaves` have it. `position` counts arguments from 0.
    """

    name: str
    layout: str
    leaves: int = 1
    position: str = ""


@dataclass(frozen=True)
class SiteEvidence:
    """What the runs say about one site.

    `calls` were compared; `differing` of them are not bitwise equal, `measured` of those were compared number by
    number, and of `unrecorded` ones the logs do not tell. `traced` calls ran inside another transformation, where
    there are no values to compare. `covered_by` names the sites whose compared calls contained every call of this one.
    `only_original` and `only_rewritten` are results that one side has and the other has not. `follows` names the site
    that was the first to differ, where this one does so later and from other arguments. The calls had so many different
    `inputs`.
    """

    site: SiteInfo
    verdict: Verdict
    message: str = ""
    calls: int = 0
    calls_original: int = 0
    calls_rewritten: int = 0
    traced: int = 0
    covered_by: tuple[str, ...] = ()
    differing: int = 0
    measured: int = 0
    leaves: int = 0
    max_absolute: float = 0.0
    max_relative: float = 0.0
    max_ulp: float = 0.0
    max_used: float = 0.0
    worst: CallDifference | None = None
    first: CallDifference | None = None
    differences: tuple[CallDifference, ...] = ()
    errors: tuple[ErrorPoint, ...] = ()
    weak_types: int = 0
    unrecorded: int = 0
    arguments: tuple[SeenLayout, ...] = ()
    results: tuple[SeenLayout, ...] = ()
    only_original: tuple[str, ...] = ()
    only_rewritten: tuple[str, ...] = ()
    follows: str = ""
    inputs: int = 0


@dataclass(frozen=True)
class InFlight:
    """A mapped call that had begun and not ended when its run ended."""

    site: str
    call: int
    order: int
    stage: str


def run_name(side: str, attempt: int, nudged: bool) -> str:
    """What a run is called; the one with arguments moved by a rounding has no number."""
    if nudged:
        return f"{side}, with each argument changed by one rounding error"
    return side if attempt == 1 else f"{side}, run {attempt}"


@dataclass(frozen=True)
class RunSummary:
    """How one run of the command went.

    `outcome` is finished, exited, signal, timeout, deadlock or unstarted; `message` says it to a person. `seconds` is
    wall-clock time. `versions` holds python, jax, jaxlib, numpy and platform of the process that made mapped calls,
    and how many processes there were. `command` names the command where there are several. `nudged` says that the
    arguments of mapped calls were moved by one rounding. `files` are those of the project that it loaded.
    """

    side: str
    attempt: int
    outcome: str
    message: str
    exit_status: int | None
    signal: str
    seconds: float
    calls: int
    traced: int
    devices: int | None
    versions: Mapping[str, str] = field(default_factory=dict)
    in_flight: tuple[InFlight, ...] = ()
    last_call: InFlight | None = None
    stdout_tail: str = ""
    stderr_tail: str = ""
    stack: str = ""
    command: str = ""
    nudged: bool = False
    files: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the command ran to its end and reported success."""
        return self.outcome == "finished"

    @property
    def last_words(self) -> str:
        """The end of what the program printed about an error: on standard output where there is nothing else."""
        return self.stderr_tail if self.stderr_tail.strip() else self.stdout_tail

    @property
    def name(self) -> str:
        """The side, with the command's name where it has one, and the number of the run from the second one on."""
        side = f"{self.command}: {self.side}" if self.command else self.side
        return run_name(side, self.attempt, self.nudged)


@dataclass(frozen=True)
class Coverage:
    """How much of a rewrite the runs have seen, in sites."""

    sites: int
    exercised: int
    equal: int
    within: int


@dataclass(frozen=True)
class Part:
    """One of several commands of a verification, with its own verdict."""

    name: str
    verdict: Verdict
    command: tuple[str, ...]
    cwd: str
    devices: int
    processes: int
    environment: Mapping[str, str]
    seconds: float


@dataclass(frozen=True)
class Evidence:
    """Everything that a verification found out, with enough of how it was run to run it again.

    `parts` are the commands where there are several; `command`, `cwd`, `devices`, `processes` and `environment` are
    then those of the first. `outputs` says what the rewritten program prints, logs or writes in another way, and
    `outputs_equal` whether nothing is, None where that was not compared. `renewed` says that the original ran with its
    old names replaced. `untouched` are sites that were not reached, in files that are the same on both sides: they do
    not count. `revisions` says by side what is compared, where a repository names it. `passed_on` are the places where
    the program hands on a map that was rewritten: calls of it that the command did not make were not compared.
    """

    verdict: Verdict
    message: str
    sites: tuple[SiteEvidence, ...]
    runs: tuple[RunSummary, ...]
    coverage: Coverage
    command: tuple[str, ...]
    cwd: str
    devices: int
    processes: int
    tolerances: Mapping[str, Tolerance]
    environment: Mapping[str, str]
    seconds: float
    outputs_equal: bool | None = None
    outputs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    renewed: bool = False
    untouched: tuple[str, ...] = ()
    revisions: Mapping[str, str] = field(default_factory=dict)
    passed_on: tuple[str, ...] = ()
    schema_version: int = SCHEMA_VERSION

    @property
    def original_failed(self) -> bool:
        """Whether the original itself does not run, so that nothing can be said of any site.

        One whose arguments were moved may fail where the original does not.
        """
        return any(run.side == ORIGINAL and not run.ok and not run.nudged for run in self.runs)

    @property
    def ok(self) -> bool:
        """Whether every site was reached and agreed in every call."""
        return self.verdict.ok

    @property
    def hint(self) -> str:
        """What usually causes the first difference; empty where nothing is known or no site differs."""
        cause = cause_of(self.sites)
        return cause.first.hint if cause is not None and cause.first is not None else ""


def cause_of(sites: Iterable[SiteEvidence]) -> SiteEvidence | None:
    """The site whose calls were the first to differ, if any did."""
    differing = [site for site in sites if site.verdict is Verdict.DIFFERENT and site.first is not None]
    return min(differing, key=lambda site: site.first.order if site.first is not None else 0, default=None)


def to_json(value: object) -> Any:
    """The value as JSON can hold it: dataclasses become objects, and numbers that JSON lacks become text."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_json(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    if isinstance(value, PurePath):
        return value.as_posix()
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value
