"""Whole verifications: programs that agree, differ, hang, crash, or never get there. Each child imports JAX once."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from jaxmigrate.verify.model import Evidence, Progress, SiteEvidence, Verdict, VerifyError
from tests.verify.marked import PROGRAMS, by_name, site_of, verify_program

MANY_SITES = (PROGRAMS / "many_sites.py").read_text()
BROKEN = [
    ('lax.pmean(grads, "i")', 'lax.psum(grads, "i")'),
    ("jnp.log(x)", "jnp.log(x - 2)"),
    ("x.sum()", "x.sum(keepdims=True)"),
    ("x.mean(0)", "x.mean(0).astype(jnp.bfloat16)"),
    ("(x, x + 1)", "(x,)"),
    ("x.reshape(7)", "x.nothing"),
    ("x * 1.0", "x * jnp.where(x.min() > 3.5, 1 + 2**-23, 1.0)"),
    ("gathered(rows(1))\n    own(rows(2))", "own(rows(2))\n    gathered(rows(1))"),
]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which every verification of this module makes its own."""
    return tmp_path_factory.mktemp("scratch")


@pytest.fixture(scope="module", autouse=True)
def _in_scratch(scratch: Path) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(scratch))
        yield


@pytest.fixture(scope="module")
def heard() -> list[Progress]:
    return []


@pytest.fixture(scope="module")
def equal(tmp_path_factory: pytest.TempPathFactory, heard: list[Progress]) -> Evidence:
    root = tmp_path_factory.mktemp("equal") / "project"
    return verify_program(root, MANY_SITES, progress=heard, command=(sys.executable, "program.py", f"--data={root}/x"))


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SiteEvidence]:
    evidence = verify_program(tmp_path_factory.mktemp("broken") / "project", MANY_SITES, BROKEN)
    assert evidence.verdict is Verdict.DIFFERENT
    # Once more for the site under a jit, and once to see what rounding does.
    moved = "original, with each argument changed by one rounding error"
    assert [run.name for run in evidence.runs] == ["original", "original, run 2", "rewritten", moved]
    return by_name(evidence)


def test_right_rewrite_is_bitwise_equal(equal: Evidence) -> None:
    verdicts = {name: site.verdict for name, site in by_name(equal).items()}
    assert verdicts.pop("never_called") is Verdict.NOT_EXERCISED
    assert {*verdicts.values()} == {Verdict.EQUAL}
    assert equal.outputs_equal is True
    assert [run.name for run in equal.runs] == ["original", "original, run 2", "rewritten"]


def test_coverage_and_counts(equal: Evidence) -> None:
    sites = by_name(equal)
    assert (sites["train_step"].calls, sites["slow_drift"].calls, sites["fails"].calls) == (3, 5, 1)
    assert sites["kinds"].leaves == 7 + 8
    assert (sites["inside_jit"].traced, sites["inside_jit"].calls) == (1, 1)
    assert "(<lambda>), whose calls were compared" in sites["inside_jit"].message
    assert equal.coverage.sites == len(equal.sites)
    assert equal.coverage.exercised == equal.coverage.equal == len(equal.sites) - 1


def test_unexercised_site_is_never_green(equal: Evidence) -> None:
    assert equal.verdict is Verdict.NOT_EXERCISED
    assert not equal.ok
    assert "never_called" in equal.message
    assert "inside_jit" not in equal.message


def test_runs_are_described(equal: Evidence) -> None:
    run = equal.runs[0]
    assert run.devices == 8
    assert run.versions["platform"] == "cpu"
    assert "--xla_force_host_platform_device_count=8" in equal.environment["XLA_FLAGS"]
    assert f"--data={equal.runs[0].stdout_tail}" not in run.stdout_tail
    assert "/tree/project/x" in run.stdout_tail  # the argument was led into the copy


def test_progress_is_told(equal: Evidence, heard: list[Progress]) -> None:
    running = [moment for moment in heard if moment.phase == "running"]
    assert {moment.run for moment in running} == {"original", "original, run 2", "rewritten"}
    assert max(moment.calls for moment in running if moment.run == "original") == 21
    assert {moment.calls_expected for moment in running} >= {None, 21}


def test_factor_of_devices_is_found_and_explained(broken: dict[str, SiteEvidence]) -> None:
    site = broken["train_step"]
    assert site.verdict is Verdict.DIFFERENT
    assert site.first is not None
    assert (site.first.call, site.first.where, site.first.inputs_equal) == (0, "output", True)
    assert site.first.leaf == "[0].params['b']"
    assert site.first.error is not None
    assert 8.0 in (site.first.error.factor, site.first.error.update_factor)
    assert "psum in place of pmean" in site.first.hint
    weights = next(one for one in site.differences if one.leaf == "[0].params['w']" and one.where == "output")
    assert weights.error is not None
    assert weights.error.update_factor == 8.0


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        ("logarithm", "nan", "nan rewritten at [0, 0] (NaN 0 times in the original, 7 times rewritten)"),
        ("total", "shape", "float32[8] in the original, float32[8,1] rewritten"),
        ("average", "dtype", "float32[8,2] in the original, bfloat16[8,2] rewritten"),
        ("result", "structure", "2 leaves with [1] in the original, 1 leaf rewritten"),
        ("fails", "exception", "AttributeError"),
        ("gathered", "order", "(gathered) in the original"),
        ("own", "order", "(own) in the rewritten one"),
    ],
)
def test_kinds_of_difference_are_told_apart(broken: dict[str, SiteEvidence], name: str, kind: str, says: str) -> None:
    site = broken[name]
    assert site.verdict is Verdict.DIFFERENT
    assert site.first is not None
    assert site.first.kind == kind
    assert says in site.message


def test_small_error_is_within_rounding(broken: dict[str, SiteEvidence]) -> None:
    site = broken["slow_drift"]
    assert site.verdict is Verdict.WITHIN
    assert (site.calls, site.differing, site.measured) == (5, 2, 2)
    assert [point.call for point in site.errors] == [3, 4]
    assert 0 < site.max_relative < 2.5e-7
    assert 0 < site.max_ulp <= 2


def test_sites_beside_the_broken_ones_stay_equal(broken: dict[str, SiteEvidence]) -> None:
    for name in ("evaluate", "forward", "kinds", "noise", "compiled", "by_keyword"):
        assert broken[name].verdict is Verdict.EQUAL


def test_program_that_never_repeats_itself_is_nondeterministic(tmp_path: Path) -> None:
    evidence = verify_program(tmp_path / "project", (PROGRAMS / "chance.py").read_text())
    sites = by_name(evidence)
    assert sites["scale"].verdict is Verdict.NONDETERMINISTIC
    assert sites["steady"].verdict is Verdict.EQUAL
    assert evidence.verdict is Verdict.NONDETERMINISTIC


def test_deadlock_names_site_and_call(tmp_path: Path) -> None:
    text = (PROGRAMS / "stuck.py").read_text()
    diverges = [('lax.axis_index("i") >= 0', 'lax.axis_index("i") >= 4')]
    evidence = verify_program(tmp_path / "project", text, diverges, idle_timeout=5.0)
    assert evidence.verdict is Verdict.FAILED
    assert evidence.runs[-1].outcome == "deadlock"
    assert evidence.runs[-1].seconds < 20
    assert f"the rewritten program hung in call 0 of {site_of(text, 'step')}" in evidence.message
    assert "wait for each other" in evidence.message
    assert by_name(evidence)["step"].verdict is Verdict.FAILED
    assert by_name(evidence)["warm_up"].verdict is Verdict.EQUAL


def test_abort_names_signal_site_and_call(tmp_path: Path) -> None:
    text = (PROGRAMS / "crash.py").read_text()
    aborts = [("def observe(x):\n    return x", "def observe(x):\n    os.abort()")]
    evidence = verify_program(tmp_path / "project", text, aborts)
    run = evidence.runs[-1]
    assert (run.outcome, run.signal) == ("signal", "SIGABRT")
    assert evidence.message == f"the rewritten program aborted (SIGABRT) in call 0 of {site_of(text, 'step')}"
    assert by_name(evidence)["step"].verdict is Verdict.FAILED
    assert by_name(evidence)["fine"].verdict is Verdict.EQUAL
    assert run.stderr_tail.startswith("Fatal Python error: Aborted")
    assert re.search(r'program\.py", line \d+ in observe', run.stderr_tail), run.stderr_tail


def _environments() -> dict[str, str]:
    found = {}
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            found[path.parent.name] = path.read_text(errors="replace")
    return found


def test_nothing_is_left_behind(
    scratch: Path, equal: Evidence, broken: dict[str, SiteEvidence], tmp_path: Path
) -> None:
    assert len(equal.runs) + len(broken) > 2
    assert [*scratch.iterdir()] == []
    assert [pid for pid, environment in _environments().items() if str(scratch) in environment] == []


@pytest.mark.parametrize(
    ("wrong", "outcome", "says"),
    [
        (
            "import time; time.sleep(60)",
            "timeout",
            "the rewritten program was stopped after 5 s (--timeout) before its first mapped call",
        ),
        (
            "import os; os.kill(os.getpid(), 9)",
            "signal",
            "was killed (SIGKILL), which the kernel does when memory runs out",
        ),
        ("raise SystemExit(3)", "exited", "the rewritten program exited with status 3"),
        ("raise ValueError('no such axis')", "exited", "exited with status 1: ValueError: no such axis"),
    ],
)
def test_failing_rewrite_says_how(tmp_path: Path, wrong: str, outcome: str, says: str) -> None:
    timeout = 5.0 if outcome == "timeout" else 60.0
    evidence = verify_program(tmp_path / "project", "print(1)\n", [("print(1)", wrong)], timeout=timeout)
    assert evidence.verdict is Verdict.FAILED
    assert [run.outcome for run in evidence.runs] == ["finished", outcome]
    assert says in evidence.message


def test_timeout_shows_what_the_program_was_doing(tmp_path: Path) -> None:
    text = "def waits_for_ever():\n    import time; time.sleep(60)\n\n\n"
    evidence = verify_program(tmp_path / "project", text + "pass\n", [("pass", "waits_for_ever()")], timeout=8.0)
    assert "waits_for_ever" in evidence.runs[-1].stack


def test_program_without_a_mapped_call_is_not_exercised(tmp_path: Path) -> None:
    text = "def unused():\n    import jax\n    return jax.pmap(abs)\n"
    evidence = verify_program(tmp_path / "project", text)
    assert [site.verdict for site in evidence.sites] == [Verdict.NOT_EXERCISED]
    assert evidence.verdict is Verdict.NOT_EXERCISED
    assert "0 of 1 sites exercised" in evidence.message


def test_original_that_fails_already_is_said(tmp_path: Path) -> None:
    evidence = verify_program(tmp_path / "project", "import sys\nsys.exit('no data')\nf = jax.pmap(abs)\n")
    assert evidence.verdict is Verdict.FAILED
    assert evidence.message == "the original program exited with status 1: no data"
    assert [run.side for run in evidence.runs] == ["original"]
    assert evidence.runs[0].stderr_tail == "no data"
    assert [site.verdict for site in evidence.sites] == [Verdict.FAILED]


def test_python_that_ignores_the_recorder_is_said(tmp_path: Path) -> None:
    command = (sys.executable, "-I", "program.py")
    evidence = verify_program(tmp_path / "project", "import jax\nf = jax.pmap(abs)\n", command=command)
    assert "ignores PYTHONPATH" in evidence.message


def test_runs_do_not_see_each_other_nor_touch_the_project(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "log.txt").write_text("kept\n")
    text = "import pathlib\np = pathlib.Path('log.txt')\np.write_text(p.read_text() + 'more')\nprint(p.read_text())\n"
    evidence = verify_program(root, text, command=("python", str(root / "program.py")), twice=True)
    assert [run.stdout_tail for run in evidence.runs] == ["kept\nmore"] * 3
    assert (root / "log.txt").read_text() == "kept\n"


def test_unknown_command_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(VerifyError, match="no-such-command: no such command"):
        verify_program(tmp_path / "project", "", command=("no-such-command",))
