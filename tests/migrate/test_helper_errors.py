"""The stacked form raises what pmap raises where no argument has an axis to map."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from jaxmigrate.migrate import fix_files

CALLS = [
    ("jax.pmap(f, axis_name='i')", "(1,)"),
    ("jax.pmap(f, axis_name='i', in_axes=(0,))", "(1,)"),
    ("jax.pmap(lambda x, y: f(x), axis_name='i', in_axes=(0, None))", "(1, jnp.ones(3))"),
    ("jax.pmap(lambda x, y: f(x), axis_name='i', static_broadcasted_argnums=1)", "(1, 'static')"),
]
OPENING = "import jax\nimport jax.numpy as jnp\n\n\ndef f(x):\n    return jax.lax.psum(x, 'i')\n\n\n"
CHILD = """\
import json
import sys

raised = []
for text, call in json.load(sys.stdin):
    scope = {}
    exec(compile(text, "case", "exec"), scope)
    try:
        exec(call, scope)
    except Exception as error:
        raised.append(type(error).__name__)
    else:
        raised.append("")
print(json.dumps(raised))
"""


@pytest.fixture(scope="module")
def programs() -> list[tuple[str, str]]:
    """Each call's program before and after, in turn."""
    found = []
    for mapped, _ in CALLS:
        before = f"{OPENING}g = {mapped}\n"
        found.append((before, fix_files({"a.py": before}, layout="stacked")["a.py"]))
    return found


@pytest.fixture(scope="module")
def raised(programs: list[tuple[str, str]]) -> list[str]:
    """What the programs raise, one after the other."""
    cases = [(text, f"g(*{given})") for pair, (_, given) in zip(programs, CALLS, strict=True) for text in pair]
    run = subprocess.run(
        [sys.executable, "-c", CHILD], input=json.dumps(cases), capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    found: list[str] = json.loads(run.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("number", range(len(CALLS)), ids=[mapped for mapped, _ in CALLS])
def test_a_value_error_where_nothing_has_an_axis(
    number: int, programs: list[tuple[str, str]], raised: list[str]
) -> None:
    assert "jax.pmap" not in programs[number][1]
    assert raised[2 * number : 2 * number + 2] == ["ValueError", "ValueError"]
