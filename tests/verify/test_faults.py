"""Programs that read standard input, fork, start processes of their own, run out of memory, or run in several."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.verify.model import Evidence, Verdict, VerifyRequest
from jaxmigrate.verify.outputs import printed
from jaxmigrate.verify.run import verify
from tests.verify.marked import PROGRAMS, by_name, marked, sites_of, verify_program

READS = "import sys\nprint(len(sys.stdin.read()) or input())\n"


def test_program_that_reads_an_empty_standard_input_is_told_so(tmp_path: Path) -> None:
    evidence = verify_program(tmp_path / "project", READS)
    assert evidence.verdict is Verdict.FAILED
    assert "the original program exited with status 1: EOFError" in evidence.message
    assert "it reads standard input, which is empty: pass a file" in evidence.message


def test_both_programs_read_what_is_given(tmp_path: Path) -> None:
    evidence = verify_program(tmp_path / "project", READS, stdin=b"hello")
    assert [run.stdout_tail for run in evidence.runs] == ["5", "5"]
    assert evidence.outputs_equal is True


WORKERS = """
import multiprocessing, os, sys
import numpy as np

def work(number):
    import jax
    step = jax.pmap(lambda x: x * 2)
    return float(step(np.full((8, 2), number, 'f')).sum())

if __name__ == "__main__":
    if os.fork() == 0:
        os._exit(0)
    os.wait()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(work, [1, 2]))
"""


@pytest.mark.parametrize("right", [True, False], ids=["right", "wrong"])
def test_calls_in_processes_of_the_program(tmp_path: Path, right: bool) -> None:
    broken = [] if right else [("lambda x: x * 2", "lambda x: x * 2 * (x < 2)")]
    evidence = verify_program(tmp_path / "project", WORKERS, broken)
    (site,) = evidence.sites
    assert site.calls == 2
    assert site.verdict is (Verdict.EQUAL if right else Verdict.DIFFERENT)
    if not right:
        assert site.first is not None
        assert site.first.call == 1


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("raise MemoryError('10 GiB')", "exited with status 1: MemoryError: 10 GiB"),
        ("import resource, os; os.kill(os.getpid(), 9)", "was killed (SIGKILL), which the kernel does when memory"),
        ("import os; os.kill(os.getpid(), 11)", "crashed (SIGSEGV)"),
        ("import os; os._exit(7)", "exited with status 7"),
    ],
)
def test_rewrite_that_ends_badly_is_named(tmp_path: Path, wrong: str, says: str) -> None:
    evidence = verify_program(tmp_path / "project", "pass\n", [("pass", wrong)])
    assert evidence.verdict is Verdict.FAILED
    assert f"the rewritten program {says}" in evidence.message


def verify_processes(root: Path, *edits: tuple[str, str], **options: Any) -> Evidence:
    before, after = ((PROGRAMS / f"processes_{side}.py").read_text() for side in ("before", "after"))
    for right, wrong in edits:
        assert after.count(right) == 1, right
        after = after.replace(right, wrong)
    (root / "program.py").write_text(after)
    request = VerifyRequest(
        root,
        (sys.executable, "program.py"),
        {"program.py": marked(before, "jax.pmap").encode()},
        {},
        sites_of(before),
        by_hand=True,
        devices=4,
        processes=2,
        **options,
    )
    return verify(request)


@pytest.mark.slow
def test_several_processes_agree_each_on_its_part(tmp_path: Path) -> None:
    evidence = verify_processes(tmp_path)
    assert evidence.verdict is Verdict.EQUAL, evidence.message
    (site,) = evidence.sites
    assert site.calls == 6
    assert [(one.name, one.layout) for one in (*site.arguments, *site.results)] == [
        ("params", "replicated"),
        ("batch", "split"),
        ("key", "stacked"),
        ("[0]", "replicated"),
        ("[1]['loss']", "replicated"),
        ("[1]['own']", "stacked"),
        ("[2]", "stacked"),
    ]
    assert evidence.outputs_equal is True
    assert [run.devices for run in evidence.runs] == [8, 8]


@pytest.mark.slow
def test_call_that_only_one_process_makes_is_a_deadlock(tmp_path: Path) -> None:
    one_more = "index() == 0:\n        p_train_step(params, jax.tree.map(split, batch), keys)\n        print"
    evidence = verify_processes(tmp_path, ("index() == 0:\n        print", one_more), idle_timeout=5.0)
    assert evidence.verdict is Verdict.FAILED
    assert "hung in call 3 of program.py" in evidence.message
    assert by_name(evidence)["p_train_step"].verdict is Verdict.FAILED
    original, rewritten = evidence.runs
    assert rewritten.outcome == "deadlock"
    assert rewritten.seconds < original.seconds + 45  # which is what a busy machine takes to start two processes


@pytest.mark.slow
def test_a_process_that_dies_ends_the_others(tmp_path: Path) -> None:
    dies = "main():\n    if jax.process_index() == 1:\n        raise ValueError('no data here')"
    evidence = verify_processes(tmp_path, ("main():", dies))
    assert evidence.verdict is Verdict.FAILED
    assert evidence.runs[-1].seconds < 60


_MESSAGE = "[Gloo] Rank 0 is connected to 1 peer ranks. Expected number of connected peer ranks is : 1"


@pytest.mark.parametrize(
    "messages",
    [
        f"{_MESSAGE}\n",
        f"{_MESSAGE}\n{_MESSAGE}\n",
        f"{_MESSAGE}{_MESSAGE}\n\n",
        f"{_MESSAGE[:13]}{_MESSAGE}\n{_MESSAGE[13:]}\n",
        f"{_MESSAGE}{_MESSAGE[:-1]}{_MESSAGE[:12]}\n1\n{_MESSAGE[12:]}\n",
    ],
)
def test_lines_of_the_library_that_connects_processes_are_not_the_programs(messages: str) -> None:
    assert printed(f"\n8\n{messages}\n8\nloss 1\n") == ["", "8", "", "8", "loss 1"]


def test_a_line_that_such_a_message_interrupts_goes_on_after_it() -> None:
    assert printed(f"compiling..{_MESSAGE}\n{_MESSAGE}\n took 3 s\nloss 1\n") == ["compiling.. took 3 s", "loss 1"]
    assert printed(f"loss 1{_MESSAGE}\n") == ["loss 1"]
