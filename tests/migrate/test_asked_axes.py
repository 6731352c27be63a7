"""A map without a name for its axis binds no axis that code asks for where it may not be bound."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.plan import Plan
from jaxmigrate.migrate.project import plan_sources
from tests.layouts.running import Program, run

MAPS = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

from means import mean


def step(w, x):
    return mean(jnp.mean(x @ w))


p_named = jax.pmap(step, axis_name="batch")
p_free = jax.pmap(step)
w = jax_utils.replicate(jnp.ones(3))
x = shard(np.arange(48, dtype=np.float32).reshape(16, 3))
RESULT = [np.asarray(p_named(w, x)[0]).tolist(), np.asarray(p_free(w, x)[3]).tolist()]
"""
ASKING = {
    "NameError": '    try:\n        return jax.lax.pmean(x, "batch")\n    except NameError:\n        return x\n',
    "bare": '    try:\n        return jax.lax.pmean(x, "batch")\n    except:\n        return x\n',
    "all errors": "    try:\n        return total(x) / 8\n    except (OSError, Exception):\n        return x\n",
    "suppressed": '    with contextlib.suppress(Exception):\n        x = jax.lax.pmean(x, "batch")\n    return x\n',
}
HEAD = """\
import contextlib
import jax


def total(x):
    return jax.lax.psum(x, "batch")


def mean(x):
"""
LOADS = """\

def load(path):
    try:
        return open(path).read()
    except Exception:
        return None
"""


def planned(means: str, layout: str = "auto") -> Plan:
    texts = {"main.py": MAPS, "means.py": means}
    root = Path("/project")
    found, errors = plan_sources([(name, root / name, text) for name, text in texts.items()], PlanOptions(layout))
    assert not errors
    return found


def free(found: Plan) -> str:
    """What stands where the map without a name stood."""
    return found.files[0].after.partition("def p_free")[2]


@pytest.mark.parametrize("asking", ASKING)
@pytest.mark.parametrize("layout", ["auto", "likely"])
def test_its_axis_has_a_name_of_its_own(asking: str, layout: str) -> None:
    assert 'P("devices")' in free(planned(HEAD + ASKING[asking], layout))


def test_errors_of_other_code_that_are_caught_change_nothing() -> None:
    found = planned("def mean(x):\n    return 2 * x\n" + LOADS)
    assert 'P("batch")' in free(found)


def test_numbers_stay() -> None:
    programs = []
    for name, asking in ASKING.items():
        found = planned(HEAD + asking)
        programs.append(Program(name, {"main.py": MAPS, "means.py": HEAD + asking}))
        programs.append(Program(f"{name}, after", {file.path: file.after for file in found.files}))
    told = run(programs)
    for name in ASKING:
        assert not told[name]["error"]
        assert told[f"{name}, after"]["result"] == told[name]["result"]
