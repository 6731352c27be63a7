"""A file's own constant for a mapped axis, or that of a module it imports, stands in what is written.

All programs run before and after, and must agree bitwise.
"""

from __future__ import annotations

from functools import cache

import pytest

from jaxmigrate.migrate import fix_files
from tests.layouts.running import Program, run

NAMES = """import functools
import jax

PMAP_AXIS = "qmc"
OTHER_AXIS = "other"
pmap = functools.partial(jax.pmap, axis_name=PMAP_AXIS)
"""
HEAD = """
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils
{imports}
ROWS = np.arange(96, dtype=np.float32).reshape(16, 6) / 7
{above}

@functools.partial(jax.pmap, axis_name="second")
def total(x):
    return jax.lax.psum(x, "second")


def step(state, batch):
    return state - 0.1 * jax.lax.pmean((batch * state).mean(), {axis})


p_step = {map}


def main({taken}):
    state = jax_utils.replicate(jnp.ones(6))
    for _ in range(2):
        state = p_step(state, common_utils.shard(ROWS))
    count = total(jax_utils.replicate(jnp.ones(2)))
    return np.asarray(jax_utils.unreplicate(state)), np.asarray(jax_utils.unreplicate(count))


{below}RESULT = main()
"""
USUAL = {"imports": "", "above": "", "below": "", "taken": "", "axis": "AXIS", "map": "jax.pmap(step, axis_name=AXIS)"}
FORMS = {  # what a program says, and what stands for the axis in it
    "of the file": ({"above": 'AXIS = "qmc"\n'}, "AXIS"),
    "annotated": ({"above": 'AXIS: str = "qmc"\n'}, "AXIS"),
    "imported": (
        {"imports": "from names import PMAP_AXIS\n", "axis": "PMAP_AXIS", "map": "jax.pmap(step, axis_name=PMAP_AXIS)"},
        "PMAP_AXIS",
    ),
    "imported as": (
        {"imports": "from names import PMAP_AXIS as AXIS\n"},
        "AXIS",
    ),
    "of a module": (
        {"imports": "import names\n", "axis": "names.PMAP_AXIS", "map": "jax.pmap(step, axis_name=names.PMAP_AXIS)"},
        "names.PMAP_AXIS",
    ),
    "of a module's map": (
        {"imports": "import names\n", "axis": "names.PMAP_AXIS", "map": "names.pmap(step)"},
        "names.PMAP_AXIS",
    ),
    "hidden": ({"above": 'AXIS = "qmc"\n', "taken": "AXIS=None"}, '"qmc"'),
    "another": ({"above": 'AXIS = "qmc"\nBATCH_AXIS = "rows"\n'}, "AXIS"),
    "bound twice": (
        {"above": 'AXIS = "qmc"\n', "below": 'AXIS = "qmc"\n'},
        '"qmc"',
    ),
    "below what is run first": (
        {
            "above": "FIRST = jax_utils.replicate(jnp.ones(6))\n",
            "axis": "'qmc'",
            "map": "jax.pmap(step, axis_name='qmc')",
            "below": "RUN = p_step(FIRST, common_utils.shard(ROWS))\nAXIS = 'qmc'\n",
        },
        "'qmc'",
    ),
    "below a call": (
        {"axis": "'qmc'", "map": "jax.pmap(step, axis_name='qmc')", "below": "FIRST = main()\nAXIS = 'qmc'\n"},
        "'qmc'",
    ),
    "below a decorator": (
        {
            "axis": "'qmc'",
            "map": "jax.pmap(step, axis_name='qmc')",
            "below": "def now(f):\n    return f()\n\n\n@now\ndef first():\n    return main()\n\n\nAXIS = 'qmc'\n",
        },
        "'qmc'",
    ),
    "below a call by a library": (
        {
            "axis": "'qmc'",
            "map": "jax.pmap(step, axis_name='qmc')",
            "below": "FIRST = [*map(main, [])]\nAXIS = 'qmc'\n",
        },
        "'qmc'",
    ),
    "below calls of libraries": (
        {"above": "DATA = np.ones(jax.device_count())\nAXIS = 'qmc'\n"},
        "AXIS",
    ),
}


def program(name: str) -> dict[str, str]:
    text = HEAD.format(**(USUAL | FORMS[name][0]))
    return {"main.py": text} | ({"names.py": NAMES} if "names" in text else {})


@cache
def after(name: str) -> dict[str, str]:
    files = program(name)
    return files | fix_files(files, "auto")


@cache
def results() -> dict[str, dict[str, object]]:
    every = [Program(f"{name}, before", program(name)) for name in FORMS]
    every += [Program(f"{name}, after", after(name)) for name in FORMS]
    return run(every)


@pytest.mark.parametrize("name", FORMS)
def test_the_numbers_are_the_same(name: str) -> None:
    before, now = (
        {k: v for k, v in results()[f"{name}, {when}"].items() if k != "name"} for when in ("before", "after")
    )
    assert not before["error"]
    assert before == now


@pytest.mark.parametrize("name", FORMS)
def test_arrays_lie_along_an_axis_by_its_constant(name: str) -> None:
    said = FORMS[name][1]
    assert f"shard(ROWS, P({said}))" in after(name)["main.py"]


STEPS = """import jax
import jax.numpy as jnp
import numpy as np
from flax.training import common_utils

import consts

START = 1.0
p_step = jax.pmap(lambda x: jax.lax.psum(x * START, "rows"), axis_name="rows")
BATCH = common_utils.shard(np.arange(16.0))


def run():
    return np.asarray(p_step(BATCH)[0]).tolist()
"""


@pytest.mark.parametrize(("imported", "said"), [("import steps", "'rows'"), ("", "consts.ROWS_AXIS")])
def test_a_module_that_imports_the_file_may_not_have_run(imported: str, said: str) -> None:
    consts = f"{imported}\n\nROWS_AXIS = 'rows'\n"
    main = "import consts\nimport steps\n\nRESULT = steps.run()\n"
    before = {"main.py": main, "steps.py": STEPS, "consts.py": consts}
    now = before | fix_files(before, "auto")
    assert f"P({said})" in now["steps.py"].replace('"', "'")
    found = run([Program(f"{said}, before", before), Program(f"{said}, after", now)])
    assert [one["error"] for one in found.values()] == ["", ""]
    assert len({str(one["result"]) for one in found.values()}) == 1
