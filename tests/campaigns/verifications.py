"""Verifies right and wrong migrations in a row, and looks for hangs, wrong verdicts, and anything left behind.

    python tests/campaigns/verifications.py [--count 50] [--load N] [--seconds-each 600]

Each verification takes the next of the cases below: right migrations, wrong ones, deadlocks, crashes, programs that do
not repeat themselves, and programs of two processes. `--load N` keeps N processes computing beside them. After each, no
process that it started may live, and its folder for temporary files has to be empty.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from types import FrameType
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))  # a script's own folder is all that Python would look in

from jaxmigrate.verify.model import Evidence, Verdict, VerifyRequest
from jaxmigrate.verify.run import verify
from tests.verify.marked import PROGRAMS, by_name, marked, sites_of, verify_program
from tests.verify.test_by_hand import AFTER, BEFORE, WRONGS, Wrong, verified

STUCK = (PROGRAMS / "stuck.py").read_text()
CRASH = (PROGRAMS / "crash.py").read_text()
CHANCE = (PROGRAMS / "chance.py").read_text()
STEADY = """
import jax
import jax.numpy as jnp
step = jax.pmap(lambda x: x * 2)
for _ in range(20):
    step(jnp.ones((8, 4)))
"""
ALL = ""


class Case(NamedTuple):
    """One verification, and the verdict that it must give each of its sites; that under `ALL` goes for the others."""

    name: str
    run: Callable[[Path], Evidence]
    expected: Mapping[str, Verdict]


def _by_hand(mistakes: tuple[Wrong, ...]) -> Case:
    after = AFTER
    for mistake in mistakes:
        after = after.replace(mistake.right, mistake.wrong)
    expected = {ALL: Verdict.EQUAL, **{mistake.site: Verdict.DIFFERENT for mistake in mistakes}}
    name = f"by hand, wrong: {', '.join(mistake.site for mistake in mistakes)}" if mistakes else "by hand, right"
    return Case(name, lambda root: verified(root, BEFORE, after), expected)


def _processes(root: Path) -> Evidence:
    before, after = ((PROGRAMS / f"processes_{side}.py").read_text() for side in ("before", "after"))
    (root / "program.py").write_text(after)
    original = {"program.py": marked(before, "jax.pmap").encode()}
    command = (sys.executable, "program.py")
    return verify(VerifyRequest(root, command, original, {}, sites_of(before), by_hand=True, devices=4, processes=2))


def cases() -> list[Case]:
    """Every kind of verdict, the cheap ones more often than those that wait for something."""
    stuck = [('lax.axis_index("i") >= 0', 'lax.axis_index("i") >= 4')]
    crash = [("def observe(x):\n    return x", "def observe(x):\n    os.abort()")]
    wrong = [("lambda x: x * 2", "lambda x: x * 3")]
    return [
        _by_hand(()),
        Case("twenty calls, right", lambda root: verify_program(root, STEADY), {ALL: Verdict.EQUAL}),
        _by_hand(WRONGS[:4]),
        Case("deadlock", lambda root: verify_program(root, STUCK, stuck), {"step": Verdict.FAILED}),
        Case("twenty calls, wrong", lambda root: verify_program(root, STEADY, wrong), {ALL: Verdict.DIFFERENT}),
        _by_hand(WRONGS[4:9]),
        Case("crash", lambda root: verify_program(root, CRASH, crash), {"step": Verdict.FAILED}),
        Case(
            "chance",
            lambda root: verify_program(root, CHANCE),
            {"scale": Verdict.NONDETERMINISTIC, "steady": Verdict.EQUAL},
        ),
        _by_hand(WRONGS[9:]),
        Case("two processes", _processes, {ALL: Verdict.EQUAL}),
    ]


def wrong_verdicts(evidence: Evidence, expected: Mapping[str, Verdict]) -> list[str]:
    """The sites that were judged in another way than expected, each with how and why."""
    found = []
    for name, site in by_name(evidence).items():
        right = expected.get(name, expected.get(ALL))
        if right is not None and site.verdict is not right:
            found.append(f"{name}: {site.verdict.value} instead of {right.value}: {site.message}")
    return found or ([] if evidence.sites else ["no site was judged"])


def strays(folder: Path) -> list[str]:
    """The processes that were started by a verification with its temporary files below `folder`, and still live."""
    needle = f"JAXMIGRATE_VERIFY={folder}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if any(entry.startswith(needle) for entry in path.read_bytes().split(b"\0")):
                found.append(f"process {path.parent.name} is left")
        except OSError:
            continue
    return found


@contextmanager
def loaded(processes: int) -> Iterator[None]:
    """Other work for the machine."""
    workers = [multiprocessing.get_context("fork").Process(target=_compute, daemon=True) for _ in range(processes)]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.join()


def _compute() -> None:
    while True:
        sum(number * number for number in range(100_000))


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Ends what takes longer with a TimeoutError."""

    def late(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def attempt(case: Case, seconds: int) -> tuple[list[str], float]:
    """What is wrong with one verification, and how long it took."""
    with tempfile.TemporaryDirectory(prefix="verifications-") as name:
        folder = Path(os.path.realpath(name))
        (folder / "tmp").mkdir()
        (folder / "project").mkdir()
        tempfile.tempdir = str(folder / "tmp")
        started = time.monotonic()
        try:
            with at_most(seconds):
                problems = wrong_verdicts(case.run(folder / "project"), case.expected)
        except Exception as error:  # noqa: BLE001 - one that fails must not end the others
            problems = [f"{type(error).__name__}: {error}"]
        finally:
            tempfile.tempdir = None
        taken = time.monotonic() - started
        left = [f"{path} is left" for path in (folder / "tmp").iterdir()]
        return [*problems, *left, *strays(folder)], taken


def main() -> int:
    """Prints a line for each verification and the sum of them; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--load", type=int, default=0)
    parser.add_argument("--seconds-each", type=int, default=600)
    options = parser.parse_args()
    bad, times, loads = 0, [], []
    with loaded(options.load):
        for number, case in enumerate(islice(cycle(cases()), options.count), 1):
            problems, seconds = attempt(case, options.seconds_each)
            bad += bool(problems)
            times.append(seconds)
            loads.append(os.getloadavg()[0])
            print(
                f"{number:3} {case.name}: {'; '.join(problems) or 'right'}, {seconds:.1f} s, load {loads[-1]:.1f}",
                flush=True,
            )
    right = f"{len(times) - bad} of {len(times)} verifications right, nothing left behind"
    print(f"{right}; {min(times):.1f} to {max(times):.1f} s each, load {min(loads):.1f} to {max(loads):.1f}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
