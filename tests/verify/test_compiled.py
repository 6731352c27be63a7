"""What XLA has compiled for one run is used by the next, by one process at a time, and changes no bit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jaxmigrate.verify.child.compiled import keep_compiled
from jaxmigrate.verify.model import Tolerance, Verdict
from tests.verify.marked import by_name, verify_program

# What is not bitwise equal differs, whatever the dtype.
EXACT = {"": Tolerance(0.0)}

FOLDER = "JAX_COMPILATION_CACHE_DIR"
PROGRAM = """
import os
import jax, jax.numpy as jnp
place = os.environ["JAX_COMPILATION_CACHE_DIR"]
with open(os.environ["SEEN"], "a") as seen:
    found = os.listdir(place) if os.path.isdir(place) else []
    seen.write(f"{sum(name.endswith('-cache') for name in found)}\\n")
step = jax.pmap(lambda x: jnp.tanh(x) - jax.lax.pmean(jnp.exp(x), "i"), axis_name="i")
x = jax.random.normal(jax.random.PRNGKey(0), (8, 33))
for _ in range(5):
    x = step(x)
"""


@pytest.fixture(scope="module", autouse=True)
def _compiled_anew(compiled_once: pytest.MonkeyPatch) -> None:
    compiled_once.undo()


def test_second_run_takes_what_the_first_compiled(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    evidence = verify_program(tmp_path / "root", PROGRAM, environment={"SEEN": str(seen)}, twice=True)
    assert by_name(evidence)["step"].verdict is Verdict.EQUAL, evidence.message
    first, second, third = map(int, seen.read_text().split())
    assert first == 0
    assert second > 3
    assert third >= second


def test_differences_are_found_in_what_was_taken(tmp_path: Path) -> None:
    wrong = ("jnp.tanh(x) - jax", "jnp.tanh(x * (1 + 2**-22)) - jax")
    environment = {"SEEN": str(tmp_path / "seen")}
    evidence = verify_program(
        tmp_path / "root", PROGRAM, [wrong], environment=environment, twice=True, tolerances=EXACT
    )
    site = by_name(evidence)["step"]
    assert site.verdict is Verdict.DIFFERENT, evidence.message
    assert site.first is not None
    assert site.first.call == 0


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in (FOLDER, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return monkeypatch


def test_users_own_folder_stays(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment.setenv(FOLDER, "/elsewhere")
    keep_compiled(str(tmp_path))
    assert os.environ[FOLDER] == "/elsewhere"


@pytest.mark.usefixtures("environment")
def test_no_folder_is_asked_for() -> None:
    keep_compiled("")
    assert FOLDER not in os.environ


@pytest.mark.usefixtures("environment")
def test_processes_at_the_same_time_have_folders_of_their_own(tmp_path: Path) -> None:
    program = (
        "import os, sys; from jaxmigrate.verify.child.compiled import keep_compiled; keep_compiled(sys.argv[1]);"
        "print(os.environ['JAX_COMPILATION_CACHE_DIR'], flush=True); sys.stdin.read()"
    )

    def start(**variables: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", program, str(tmp_path)]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **variables}
        )

    def place(child: subprocess.Popen[str]) -> str:
        assert child.stdout is not None
        return child.stdout.readline().strip()

    first = start()
    assert place(first) == str(tmp_path / "0")
    # As a process that the first one starts would find it.
    second = start(**{FOLDER: str(tmp_path / "0")})
    assert place(second) == str(tmp_path / "1")
    first.communicate()
    third = start()
    assert place(third) == str(tmp_path / "0")
    second.communicate()
    third.communicate()
