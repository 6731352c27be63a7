"""An alias of pmap goes once its sites show maps of their own, unless something else may need it."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import fix_files, plan_sources

CONSTANTS = """import functools

import jax

AXIS = "i"
pmap = functools.partial(jax.pmap, axis_name=AXIS)
"""
MAIN = """import jax.numpy as jnp

import constants


def step(w, x):
    return w + x


p_step = constants.pmap(step, donate_argnums=0)
print(p_step(jnp.ones((8, 2)), jnp.ones((8, 2))))
"""
BY_NAME = MAIN.replace("import constants\n", "from constants import AXIS, pmap\n\nprint(AXIS)\n").replace(
    "constants.pmap", "pmap"
)


def test_it_goes_and_sites_name_its_axis() -> None:
    after = fix_files({"constants.py": CONSTANTS, "main.py": MAIN})
    assert after["constants.py"] == 'AXIS = "i"\n'
    assert "in_specs=P(constants.AXIS), out_specs=P(constants.AXIS)" in " ".join(after["main.py"].split())


def test_its_imports_go_with_it() -> None:
    after = fix_files({"constants.py": CONSTANTS, "main.py": BY_NAME})
    assert "pmap" not in after["constants.py"]
    assert "from constants import AXIS\n" in after["main.py"]


@pytest.mark.parametrize(
    "more",
    [
        {"other.py": "import constants\n\nmapper = constants.pmap\n"},
        {"other.py": "from constants import pmap as mapper\n"},
        {"other.py": "from constants import *\n\nprint(pmap)\n"},
        {"other.py": "import constants\n\nprint(getattr(constants, 'pmap'))\n"},
        {"other.py": "import constants\n\np = constants.pmap(lambda *a: sum(a), axis_size=4)\n"},
        {"pkg/__init__.py": "from constants import pmap\n"},
    ],
)
def test_it_stays_where_something_else_may_need_it(more: dict[str, str]) -> None:
    after = fix_files({"constants.py": CONSTANTS, "main.py": MAIN, **more})
    assert "pmap = functools.partial(shard_map_stacked, axis_name=AXIS)\n" in after["constants.py"]
    assert "jax.shard_map(" in after["main.py"]


DECORATED = """import functools

import jax.numpy as jnp

import constants


@functools.partial(constants.pmap, donate_argnums=0)
def step(w, x):
    return w + x


print(step(jnp.ones((8, 2)), jnp.ones((8, 2))))
"""


def test_a_decorator_by_a_partial_of_it_and_prose_need_it_no_more() -> None:
    prose = '"""What runs inside a pmap."""\n\n\ndef twice(x):\n    return 2 * x  # pmap has split x\n'
    after = fix_files({"constants.py": CONSTANTS, "main.py": DECORATED, "prose.py": prose})
    assert after["constants.py"] == 'AXIS = "i"\n'
    assert "jax.shard_map(" in after["main.py"]


def test_an_alias_that_a_file_not_given_imports_stays() -> None:
    lib = "import jax\n\npmap = jax.pmap\n\n\n@pmap\ndef double(x):\n    return 2 * x\n"
    main = "from lib import double, pmap\n\nprint(double([1.0]))\n"
    root = Path("/project")
    plan, errors = plan_sources([("lib.py", root / "lib.py", lib)], PlanOptions(), beside={root / "main.py": main})
    assert not errors
    assert "\npmap = " in plan.files[0].after
    assert "jax.pmap" not in plan.files[0].after


@pytest.mark.parametrize(
    "choice", ["mapper = jax.jit if alone else jax.pmap", "mapper, n = (jax.jit, 1) if alone else (jax.pmap, 8)"]
)
def test_one_of_several_is_rewritten_where_it_is_chosen(choice: str) -> None:
    text = f"import jax\n\nalone = jax.device_count() == 1\n{choice}\nf = mapper(lambda x: x + 1)\n"
    plan, errors = plan_sources([("a.py", Path("/project/a.py"), text)], PlanOptions())
    assert not errors
    assert [(one.status, one.line) for one in plan.files[0].sites] == [("rewritten", 4)]
