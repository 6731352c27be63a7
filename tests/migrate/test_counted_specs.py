"""Specs of many arguments are counted where they fill more than a line: `(P(),) * 8 + (P("i"),) * 4`; lint reads them.

All programs run before and after, and must agree bitwise.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.migrate import fix_files
from jaxmigrate.sources import read_source
from tests.layouts.running import Program, run

STEP = """
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

BATCH = np.arange(24, dtype=np.float32).reshape(8, 3) / 7


@functools.partial(jax.pmap, axis_name="i")
def step({names}):
    mean = jax.lax.pmean(({batches}).mean(), "i")
    return {results}


def main():
    {states} = {replicated}
    for _ in range(2):
        {states}, *own = step({given})
    return jax.tree.map(np.asarray, (jax_utils.unreplicate({first}), own))


RESULT = main()
"""


def program(states: int, batches: int, own: int) -> str:
    before, after = [f"s{i}" for i in range(states)], [f"b{i}" for i in range(batches)]
    results = [f"{one} - mean" for one in before] + [f"{one}.sum()" for one in after[:own]]
    return STEP.format(
        names=", ".join([*before, *after]),
        batches=" + ".join(after),
        results=", ".join(results),
        states=", ".join(before),
        replicated=", ".join("jax_utils.replicate(jnp.ones(3))" for _ in before),
        given=", ".join([*before, *("BATCH" for _ in after)]),
        first=before[0],
    )


FORMS = {  # states, batches, own results, and what is written for the arguments
    "many": (8, 4, 4, 'in_specs=(P(),) * 8 + (P("i"),) * 4'),
    "one more": (11, 1, 1, 'in_specs=(P(),) * 11 + (P("i"),)'),
    "few": (3, 2, 1, 'in_specs=(P(), P(), P(), P("i"), P("i"))'),
}


@cache
def after(name: str) -> str:
    return fix_files({"main.py": program(*FORMS[name][:3])}, "auto")["main.py"]


@cache
def results() -> dict[str, dict[str, object]]:
    every = [Program(f"{name}, before", {"main.py": program(*form[:3])}) for name, form in FORMS.items()]
    every += [Program(f"{name}, after", {"main.py": after(name)}) for name in FORMS]
    return run(every)


@pytest.mark.parametrize("name", FORMS)
def test_specs_are_counted(name: str) -> None:
    before, now = (
        {k: v for k, v in results()[f"{name}, {when}"].items() if k != "name"} for when in ("before", "after")
    )
    assert not before["error"]
    assert before == now
    assert FORMS[name][3] in after(name)


def test_lint_reads_them(tmp_path: Path) -> None:
    source = tmp_path / "main.py"
    source.write_text(after("many"))
    assert not [one for one in lint([read_source(source, "main.py")], Config()) if one.code == "JM107"]
    source.write_text(after("many").replace("(P(),) * 8 +", "(P(),) * 7 +"))
    assert len([one for one in lint([read_source(source, "main.py")], Config()) if one.code == "JM107"]) == 2
