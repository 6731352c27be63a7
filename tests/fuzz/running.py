"""Generated programs as fix leaves them, and what a long-lived child process says of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from jaxmigrate.migrate import Plan, SitePlan, plan_sources
from jaxmigrate.migrate.options import PlanOptions
from tests.fuzz.grammar.choices import Choices
from tests.fuzz.grammar.program import Files, write_program

WORKER = Path(__file__).parent / "worker.py"
FLAGS = (
    "--xla_force_host_platform_device_count=8",
    "--xla_cpu_collective_call_terminate_timeout_seconds=20",
    "--xla_cpu_collective_call_warn_stuck_timeout_seconds=10",
)
LAYOUTS = ("auto", "stacked")
GLOBAL = ("replicated", "split")
OBSERVER = "import main\n\nprint(main.RESULT)\n"
WAIT = 120  # seconds for one run of one program
PROGRAMS_A_WORKER = 1500
HOSTS = 4  # programs with the same mapped functions, which XLA compiles once where the layouts agree
# Verdicts that have been looked at: counted by these names, and neither shrunk nor taken for a failure.
KNOWN: dict[tuple[str, str], str] = {}
Verdicts = dict[str, tuple[str, str]]


@dataclass
class Case:
    """A program, and what fix made of it.

    Attributes:
        after: The rewritten files by layout; a layout that changes nothing more than another one is left out.
        faults: What is wrong before anything runs: a crash of fix, or a second run that changes something.
        sites: The sites as planned under "auto".
    """

    name: str
    before: Files
    after: dict[str, Files] = field(default_factory=dict)
    faults: Verdicts = field(default_factory=dict)
    sites: Sequence[SitePlan] = ()

    @property
    def has_global(self) -> bool:
        """Whether some site takes or gives a global array."""
        return any(array.layout in GLOBAL for site in self.sites for array in (*site.arguments, *site.outputs))

    @property
    def takes_global(self) -> bool:
        """Whether some site takes a global array."""
        return any(array.layout in GLOBAL for site in self.sites for array in site.arguments)


def planned(files: Files, layout: str) -> Plan:
    """What fix makes of a program, where another module looks at its `RESULT`."""
    root = Path("/project")
    seen = {**files, "observer.py": OBSERVER}
    plan, errors = plan_sources([(name, root / name, text) for name, text in seen.items()], PlanOptions(layout))
    if errors:
        raise next(iter(errors.values()))
    return Plan(plan.files[:-1])


def texts(plan: Plan) -> Files:
    """The files of a plan as they come out."""
    return {file.path: file.after for file in plan.files}


def rewritten(name: str, files: Files, layouts: Sequence[str] = LAYOUTS, twice: bool = True) -> Case:
    """A program in each layout, with the faults that show without running it; `twice` looks for what changes again."""
    case = Case(name, files)
    for layout in layouts:
        try:
            plan = planned(files, layout)
            after = texts(plan)
            again = texts(planned(after, layout)) if twice else after
            for text in after.values():
                compile(text, "main.py", "exec")
        except Exception:  # noqa: BLE001 - a crash of fix is a finding
            case.faults[layout] = "fix crashes", traceback.format_exc(limit=-4)
            continue
        if again != after:
            case.faults[layout] = "changes again", ""
        if layout == "auto":
            case.sites = plan.sites
        if after != files and after not in case.after.values():
            case.after[layout] = after
    return case


def generated(seed: str | None = None, given: Sequence[int] | None = None) -> tuple[Choices, Files]:
    """A program by its seed, `name:number`, or by the numbers that were drawn for it."""
    if seed is None:
        choices = Choices("", given)
        return choices, write_program(choices)
    name, _, number = seed.rpartition(":")
    choices = Choices(f"{name}:{int(number) // HOSTS}")
    return choices, write_program(choices, seed)


class Worker:
    """A child process that runs programs; one that dies or hangs is followed by another."""

    def __init__(self, python: str = sys.executable, flags: Sequence[str] = ()) -> None:
        self._python, self._flags = python, (*FLAGS, *flags)
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - lives as long as this
        self._asked = 0
        self._child: subprocess.Popen[str] | None = None

    def _start(self) -> subprocess.Popen[str]:
        environment = {**os.environ, "XLA_FLAGS": " ".join(self._flags), "NPROC": "64", "JAX_PLATFORMS": "cpu"}
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [self._python, str(WORKER)], stdin=pipe, stdout=pipe, stderr=self._errors, text=True, env=environment
        )

    def ask(self, case: Case) -> Verdicts:
        """The verdicts on a program's forms; `crashes` and `hangs` are of the process."""
        self.begin(case)
        return self.finish(case)

    def begin(self, case: Case) -> None:
        """Hands a program to the process, which runs it while its caller prepares the next one."""
        if self._asked % PROGRAMS_A_WORKER == PROGRAMS_A_WORKER - 1:
            self.close()
        self._asked += 1
        self._child = self._child or self._start()
        assert self._child.stdin is not None
        question = {"name": case.name, "before": case.before, "after": case.after}
        try:
            self._child.stdin.write(json.dumps(question) + "\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            pass

    def finish(self, case: Case) -> Verdicts:
        """Waits for the verdicts on the program that was handed over last; those that are known go by their names."""
        found = {**self._answers(), **case.faults}
        for (verdict, part), name in KNOWN.items():
            found |= {label: (name, "") for label, (said, text) in found.items() if said == verdict and part in text}
        return found

    def _answers(self) -> Verdicts:
        begun, ended = "before", threading.Event()
        assert self._child is not None
        while (line := self._line(ended)) is not None:
            entry: dict[str, Any] = json.loads(line)
            if "verdicts" in entry:
                return {label: (verdict, text) for label, (verdict, text) in entry["verdicts"].items()}
            begun = entry["begun"]
        self._child.kill()
        self._child.communicate()
        self._errors.seek(0)
        text = f"exit status {self._child.returncode}: {self._errors.read()[-1500:]}"
        self._errors.seek(0)
        self._errors.truncate()
        self._child = None
        return {begun: ("hangs" if ended.is_set() else "crashes", text)}

    def _line(self, ended: threading.Event) -> str | None:
        """The next line; None where the process has ended, or was ended since it said nothing for too long."""
        child = self._child
        assert child is not None
        assert child.stdout is not None

        def end() -> None:
            ended.set()
            child.kill()

        timer = threading.Timer(WAIT, end)
        timer.start()
        try:
            return child.stdout.readline() or None
        finally:
            timer.cancel()

    def close(self) -> None:
        """Ends the process."""
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None

    def __enter__(self) -> Self:
        """The worker itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the process for good."""
        self.close()
        self._errors.close()
