"""What the recorder's stand-ins are to the program, and what they write about it; one child for all of it."""

from __future__ import annotations

import itertools
import math
import os
import struct
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from jaxmigrate.verify.environment import DEVICE_COUNT
from jaxmigrate.verify.model import VerifyRequest
from jaxmigrate.verify.recording import Call, Leaf, ProcessLog, Recording, Values
from jaxmigrate.verify.workshop import KEEP_FIRST, open_workshop
from tests.verify.marked import PROGRAMS


@pytest.fixture(scope="module")
def kept() -> dict[str, bytes]:
    """What the processes of the run left on disk of arrays, by file."""
    return {}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, kept: dict[str, bytes]) -> Recording:
    root = tmp_path_factory.mktemp("forms")
    (root / "program.py").write_text((PROGRAMS / "recorder_forms.py").read_text())
    request = VerifyRequest(root, (sys.executable, "-Wignore", "program.py"), {}, {}, ())
    with open_workshop(request, lambda _: None) as workshop:
        run = workshop.run("original", 1, None)
        kept.update((str(path), path.read_bytes()) for path in (run.recording.folder / "arrays").iterdir())
    assert run.summary.ok, run.summary.stderr_tail
    return run.recording


def main_log(recorded: Recording) -> ProcessLog:
    return max(recorded.ordered(), key=lambda log: len(log.calls))


def calls_of(recorded: Recording, site: str) -> list[Call]:
    return [call for call in main_log(recorded).calls if call.site == site]


def inputs_of(call: Call) -> Values:
    assert call.inputs is not None
    return call.inputs


def leaves_of(call: Call) -> tuple[Leaf, ...]:
    return inputs_of(call).signature.leaves


def test_program_runs_as_it_would_alone(recorded: Recording) -> None:
    assert all(call.ended and not call.raised for call in recorded.calls())


def test_names_of_mapped_functions(recorded: Recording) -> None:
    assert main_log(recorded).made["outer"] == "<lambda>"
    assert main_log(recorded).made["pickled"] == "max"


def test_calls_under_tracing_are_counted_only(recorded: Recording) -> None:
    log = main_log(recorded)
    # jit (eval_shape finds what that traced), grad, and jit without arguments, which only its result gives away.
    assert [site for site, _ in log.traced] == ["forms"] * 3
    assert sum(call.traced for call in log.calls) == 1


def test_decorator_is_followed_to_its_function(recorded: Recording) -> None:
    assert len(calls_of(recorded, "alias")) == len(calls_of(recorded, "class attribute")) == 1


def test_strange_arguments_are_described(recorded: Recording) -> None:
    first, box, again, deleted, nothing = calls_of(recorded, "strange")
    kinds = [leaf.kind for leaf in leaves_of(first)]
    assert kinds == ["unreadable", *["scalar"] * 4, "none", "array", "array", "static"]
    assert inputs_of(first).leaves is not None
    assert (inputs_of(first).leaves or ())[1].whole == repr("a\nb")
    assert [leaf.path for leaf in leaves_of(box)] == [
        "[0][0][<flat index 0>]",
        "[0][1]['a'][0]",
        "[0][1]['a'][1][0]",
        "[0][1]['b']",
    ]
    assert "Box(*)" in inputs_of(box).signature.nodes
    assert inputs_of(box).digest == inputs_of(again).digest
    assert [leaf.kind for leaf in leaves_of(deleted)] == ["deleted"]
    assert leaves_of(nothing) == ()


def test_digest_does_not_depend_on_where_an_array_lies(recorded: Recording) -> None:
    calls = calls_of(recorded, "layouts")
    by_dtype = itertools.groupby(calls[:-5], key=lambda call: leaves_of(call)[0].dtype)
    groups = {dtype: [inputs_of(call).digest for call in group] for dtype, group in by_dtype}
    assert {dtype: (len(digests), len({*digests})) for dtype, digests in groups.items()} == dict.fromkeys(
        ("float32", "int8", "bfloat16", "complex64", "bool"), (11, 1)
    )
    assert len({digests[0] for digests in groups.values()}) == 5


def test_repeated_slices_are_told_from_changed_ones(recorded: Recording) -> None:
    *same, last, first = (inputs_of(call).digest for call in calls_of(recorded, "layouts")[-5:])
    assert len({*same}) == 1
    assert len({same[0], last, first}) == 3


def test_arrays_of_the_first_calls_are_kept(recorded: Recording, kept: dict[str, bytes]) -> None:
    calls = calls_of(recorded, "layouts")
    found = [call.number for call in calls if inputs_of(call).array(0) is not None]
    assert found == [*range(len(calls))]
    assert len(found) > KEEP_FIRST


def test_kept_arrays_lie_one_after_the_other_in_one_file(recorded: Recording, kept: dict[str, bytes]) -> None:
    both = [values for call in main_log(recorded).calls for values in (call.inputs, call.outputs) if values]
    stored = sorted({found for values in both for leaf, *_ in values.kept if (found := values.array(leaf))})
    ((path, data),) = kept.items()
    assert {one.path for one in stored} == {path}
    assert [one.start for one in stored] == [0, *itertools.accumulate(one.size for one in stored)][:-1]
    assert sum(one.size for one in stored) == len(data)


def test_kept_arrays_hold_their_bytes(recorded: Recording, kept: dict[str, bytes]) -> None:
    for call in calls_of(recorded, "layouts")[:2]:
        stored = inputs_of(call).array(0)
        assert stored is not None
        numbers = struct.unpack(f"{stored.size // 4}f", kept[stored.path][stored.start :][: stored.size])
        assert numbers == tuple(range(len(numbers)))
        assert len(numbers) == math.prod(leaves_of(call)[0].shape)


def test_an_array_is_written_once_and_outlives_a_killed_program(tmp_path: Path) -> None:
    program = """
import os, signal
import jax.numpy as jnp
held = __jaxmigrate_mapped__("same", lambda x: x)(jnp.arange(4.0))
__jaxmigrate_mapped__("killed", lambda x: os.kill(os.getpid(), signal.SIGKILL))(held)
"""
    (tmp_path / "program.py").write_text(program)
    request = VerifyRequest(tmp_path, (sys.executable, "-Wignore", "program.py"), {}, {}, ())
    with open_workshop(request, lambda _: None) as workshop:
        run = workshop.run("original", 1, None)
        first, last = run.recording.calls()
        stored = inputs_of(last).array(0)
        assert stored is not None
        assert first.outputs is not None
        assert stored == first.outputs.array(0) == inputs_of(first).array(0)  # and not written again
        data = Path(stored.path).read_bytes()[stored.start :][: stored.size]
    assert run.summary.signal == "SIGKILL"
    assert struct.unpack("4f", data) == (0, 1, 2, 3)


def test_nested_calls_know_what_is_around_them(recorded: Recording) -> None:
    (outer,) = calls_of(recorded, "outer")
    assert [call.within for call in calls_of(recorded, "inner")] == [("outer",)] * 2
    assert outer.within == ()
    assert outer.ended


def test_threads_number_their_own_calls(recorded: Recording) -> None:
    assert _numbers(calls_of(recorded, "threads")) == [
        ("one", 0),
        ("one", 1),
        ("one", 2),
        ("two", 0),
        ("two", 1),
        ("two", 2),
    ]


def _numbers(calls: Iterable[Call]) -> list[tuple[str, int]]:
    return [(call.thread, call.number) for call in calls]


def test_forked_process_has_a_log_of_its_own(recorded: Recording) -> None:
    other = next(log for log in recorded.ordered() if log is not main_log(recorded))
    assert [call.site for call in other.calls] == ["forked"]
    assert other.facts["parent"] == main_log(recorded).pid


class TestStart:
    """What happens to a Python process before its first line; no JAX is needed for it."""

    @staticmethod
    def output(tmp_path: Path, program: str, files: dict[str, str] | None = None, **variables: str) -> str:
        root = tmp_path / "project"
        for name, text in {"p.py": program, **(files or {})}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        marked = {name: text.encode() for name, text in (files or {}).items()}
        request = VerifyRequest(root, (sys.executable, "p.py"), marked, {}, (), environment=variables)
        with open_workshop(request, lambda _: None) as workshop:
            run = workshop.run("original", 1, None)
        assert run.summary.ok, run.summary.stderr_tail
        return run.summary.stdout_tail

    def test_sitecustomize_of_the_user_still_runs(self, tmp_path: Path) -> None:
        (tmp_path / "sitecustomize.py").write_text("import builtins; builtins.mine = 'here'")
        assert self.output(tmp_path, "print(mine)", PYTHONPATH=str(tmp_path)) == "here"

    def test_unseeded_numbers_repeat(self, tmp_path: Path) -> None:
        program = "import random, numpy as np; print(random.random(), np.random.rand(), hash('x'))"
        assert self.output(tmp_path, program) == self.output(tmp_path, program)

    def test_installed_edition_of_the_project_does_not_win(self, tmp_path: Path) -> None:
        installed = tmp_path / "site" / "pkg"
        installed.mkdir(parents=True)
        for name in ("__init__.py", "mod.py"):
            (installed / name).write_text("where = 'installed'")
        files = {"src/pkg/__init__.py": "", "src/pkg/mod.py": "where = 'copy'"}
        site = str(installed.parent)
        assert self.output(tmp_path, "import pkg.mod; print(pkg.mod.where)", files, PYTHONPATH=site) == "copy"

    def test_other_packages_of_the_same_name_are_left_alone(self, tmp_path: Path) -> None:
        installed = tmp_path / "site" / "pkg"
        installed.mkdir(parents=True)
        (installed / "__init__.py").write_text("where = 'another'")
        files = {"src/pkg/mod.py": "where = 'copy'"}
        site = str(installed.parent)
        assert self.output(tmp_path, "import pkg; print(pkg.where)", files, PYTHONPATH=site) == "another"

    def test_without_a_verification_nothing_happens(self) -> None:
        child = Path(__file__).parents[2] / "jaxmigrate" / "verify" / "child"
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(child)}
        program = "import builtins; print(hasattr(builtins, '__jaxmigrate_transform__'))"
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout == "False\n"
        assert DEVICE_COUNT not in done.stderr
