"""What a rewritten map donates: what pmap does, which never donates an argument that is given by keyword."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate import plan_sources
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import fix_files

PROGRAM = """import functools
import jax


def make(scale):
    @functools.partial(jax.pmap, axis_name="i", donate_argnums=(0, 1))
    def step(x, width):
        return x * scale + jax.lax.psum(width, "i")

    return step


run = make(2.0)
y = {call}
"""


@pytest.mark.parametrize(
    ("call", "donated"),
    [
        ("run(x, w)", "donate_argnums=(0, 1)"),
        ("run(x, width=w)", "donate_argnums=0"),
        ("run(x=x, width=w)", ""),
        ("run(x, **rest)", "donate_argnums=0"),
        ("run(*args, width=w)", ""),
        ("run(x, w), run(x, width=w)", "donate_argnums=0"),
    ],
)
def test_arguments_by_keyword_are_not_donated(call: str, donated: str) -> None:
    text = fix_files({"a.py": PROGRAM.format(call=call)})["a.py"]
    assert "jax.pmap" not in text
    if donated:
        assert donated in text
    else:
        assert "donate_argnums" not in text.replace("donate_argnums=donate_argnums", "")


@pytest.mark.parametrize(("call", "told"), [("run(x, w)", ()), ("run(x, width=w)", (6,)), ("run(x=x, width=w)", (6,))])
def test_they_are_told(call: str, told: tuple[int, ...]) -> None:
    plan, _ = plan_sources([("a.py", Path("/project/a.py"), PROGRAM.format(call=call))], PlanOptions())
    assert plan.files[0].undonated == told
