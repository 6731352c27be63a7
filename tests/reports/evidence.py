"""Evidence made by hand, with everything in it that a report can show."""

from __future__ import annotations

from dataclasses import replace

from jaxmigrate.migrate.plan import ArrayLayout, SitePlan
from jaxmigrate.reports.diff import unified_diff
from jaxmigrate.reports.fix_result import FixedFile
from jaxmigrate.reports.report import Report, report_of_verify
from jaxmigrate.verify.model import (
    DEFAULT_TOLERANCES,
    CallDifference,
    Coverage,
    ErrorPoint,
    Evidence,
    LeafError,
    RunSummary,
    SeenLayout,
    SiteEvidence,
    SiteInfo,
    Verdict,
)

EQUAL_SITE = SiteInfo("train.py:3:8", "train.py", 3, 8, "batch", "step")
WRONG_SITE = SiteInfo("train.py:9:8", "train.py", 9, 8, "batch", "<evaluate> & co")
UNSEEN_SITE = SiteInfo("train.py:12:8", "train.py", 12, 8, "batch", "predict")

ERROR = LeafError(
    absolute=7.0,
    relative=float("inf"),
    ulp=3.2e7,
    index=(0, 1),
    original="1.0",
    rewritten="8.0",
    factor=8.0,
    elements=2,
)
DIFFERENCE = CallDifference(
    site=WRONG_SITE.id,
    call=4,
    order=7,
    where="output",
    kind="value",
    leaf="['w']",
    original="1.0",
    rewritten="8.0",
    inputs_equal=True,
    error=ERROR,
    hint="the result is 8 times the original's: a `P()` argument",
    message="call 4, result ['w']: 2 of 2 numbers differ",
)
RUNS = (
    RunSummary("original", 1, "finished", "the original program finished", 0, "", 2.5, 9, 0, 8, {"jax": "0.10.2"}),
    RunSummary(
        "rewritten", 1, "signal", "aborted <here>", -6, "SIGABRT", 70.0, 8, 0, 8, stderr_tail="Fatal\x1b[31m <b>"
    ),
)


def evidence() -> Evidence:
    sites = (
        SiteEvidence(
            EQUAL_SITE,
            Verdict.EQUAL,
            "5 calls bitwise equal",
            calls=5,
            calls_original=5,
            calls_rewritten=5,
            arguments=(SeenLayout("state", "replicated", 7, "0"), SeenLayout("batch['x']", "split", 1, "1")),
            results=(SeenLayout("", "replicated"),),
        ),
        SiteEvidence(
            WRONG_SITE,
            Verdict.DIFFERENT,
            DIFFERENCE.message,
            calls=5,
            calls_original=5,
            calls_rewritten=4,
            differing=3,
            measured=3,
            max_absolute=7.0,
            max_relative=float("inf"),
            max_ulp=3.2e7,
            worst=DIFFERENCE,
            first=DIFFERENCE,
            differences=(DIFFERENCE,),
            errors=tuple(ErrorPoint(call, 0.1, 10.0 ** (call - 6), 3.0) for call in range(3)),
        ),
        SiteEvidence(UNSEEN_SITE, Verdict.NOT_EXERCISED, "not called in either run"),
    )
    return Evidence(
        verdict=Verdict.DIFFERENT,
        message=f"{WRONG_SITE}: {DIFFERENCE.message}",
        sites=sites,
        runs=RUNS,
        coverage=Coverage(3, 2, 1, 0),
        command=("python", "train.py", "--name", "a b"),
        cwd=".",
        devices=8,
        processes=1,
        tolerances=DEFAULT_TOLERANCES,
        environment={"NPROC": "64"},
        seconds=72.5,
        outputs_equal=False,
        outputs=("it prints something else: line 1",),
        notes=("2 results have another weak type",),
    )


def green() -> Evidence:
    site = evidence().sites[0]
    return replace(
        evidence(),
        verdict=Verdict.EQUAL,
        message="1 of 1 sites exercised",
        sites=(site,),
        runs=RUNS[:1],
        coverage=Coverage(1, 1, 1, 0),
        notes=(),
    )


BEFORE = b"import jax\n\nstep = jax.pmap(f, axis_name='<i>')\nsame = 1\nold = 2\n"
AFTER = b"import jax\n\nstep = mapped(f, axis_name='<i>')\nsame = 1\nnew = 3\nmore = 4\n"


def full_report() -> Report:
    """A verification with the rewrite it is about: one site of it was left."""
    plans = tuple(
        SitePlan(
            s.id, s.path, s.line, s.column, "call", s.axis, s.name, "rewritten", arguments=(ArrayLayout("x", "split"),)
        )
        for s in (EQUAL_SITE, WRONG_SITE, UNSEEN_SITE)
    )
    left = SitePlan("train.py:30:1", "train.py", 30, 1, "value", None, "g", "left", "JM402", "a negative axis; use 2")
    file = FixedFile("train.py", "shown", (*plans, left), unified_diff("train.py", BEFORE, AFTER))
    return report_of_verify(evidence(), [file])
