"""Runs programs and their rewritten forms, many to a child process with 8 simulated devices."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.flags import UNOPTIMISED

CHILD = Path(__file__).parents[1] / "forms_child.py"


@dataclass(frozen=True, slots=True)
class Program:
    """A program's files as written and, if it is to be compared, as rewritten."""

    name: str
    before: dict[str, str]
    after: dict[str, str] | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """`agrees`, `differs`, `original raises`, `rewrite raises` or `crashes`, and what there is to say about it."""

    name: str
    verdict: str
    text: str


def start(
    python: str, errors: IO[str], *arguments: str, devices: int = 8, flags: Sequence[str] = ()
) -> subprocess.Popen[str]:
    """A child process that compares what it reads."""
    given = os.environ.get("XLA_FLAGS", "").split()
    every = " ".join([*given, *flags, f"--xla_force_host_platform_device_count={devices}"])
    environment = {**os.environ, "XLA_FLAGS": every, "NPROC": "64", "JAX_PLATFORMS": "cpu"}
    command = [python, str(CHILD), *arguments]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
    )


def run(programs: Iterable[Program], python: str = sys.executable, flags: Sequence[str] = ()) -> Iterator[Verdict]:
    """Each program's verdict as soon as it is there; a process that dies is followed by another for the rest."""
    with tempfile.TemporaryFile("w+") as errors:
        child = start(python, errors, flags=flags)
        try:
            for program in programs:
                answer = _ask(child, program)
                if answer is None:
                    child.wait()
                    errors.seek(0)
                    yield Verdict(program.name, "crashes", f"exit status {child.returncode}: {errors.read()[-3000:]}")
                    child = start(python, errors, flags=flags)
                else:
                    yield answer
        finally:
            child.kill()
            child.communicate()


def run_in_processes(programs: Iterable[Program], count: int = 2) -> Iterator[Verdict]:
    """Each program's verdict where several processes run it together: that of the first which does not agree."""
    with tempfile.TemporaryFile("w+") as errors, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        free.close()
        children = [
            start(sys.executable, errors, address, str(count), str(rank), devices=8 // count, flags=UNOPTIMISED)
            for rank in range(count)
        ]
        try:
            for program in programs:
                for child in children:
                    _send(child, program)
                answers = [_answer(child) or Verdict(program.name, "crashes", "") for child in children]
                yield next((a for a in answers if a.verdict != "agrees"), answers[0])
        finally:
            for child in children:
                child.kill()
                child.communicate()


def _ask(child: subprocess.Popen[str], program: Program) -> Verdict | None:
    return _answer(child) if _send(child, program) else None


def _send(child: subprocess.Popen[str], program: Program) -> bool:
    assert child.stdin is not None
    case = {"name": program.name, "before": program.before, "after": program.after}
    try:
        child.stdin.write(json.dumps(case) + "\n")
        child.stdin.flush()
    except BrokenPipeError:
        return False
    return True


def _answer(child: subprocess.Popen[str]) -> Verdict | None:
    assert child.stdout is not None
    lines = (line for line in child.stdout if line.startswith("{"))  # what connects the processes prints there too
    line = next(lines, "")
    return Verdict(**json.loads(line)) if line else None
