"""An axis name that users of a package may choose stays the one that they choose."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate.project import fix_files
from tests.layouts.running import Program, run

SETUP = "from setuptools import setup\n\nsetup(name='lib', packages=['lib'])\n"
CORE = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


class DataParallel:
    def __init__(self, loss_fn, axis_name="batch"):
        self.loss_fn = loss_fn
        self.axis_name = axis_name
        self.p_step = jax.pmap(self.step, axis_name=axis_name)

    def step(self, params, batch):
        grads = jax.lax.pmean(jax.grad(self.loss_fn)(params, batch), self.axis_name)
        return params - 0.125 * grads

    def run(self, params, batches):
        params = jax_utils.replicate(params)
        for batch in batches:
            params = self.p_step(params, shard(batch))
        return jax_utils.unreplicate(params)
"""
HELD = CORE.replace("axis_name=axis_name)", "axis_name=self.axis_name)")
FACTORY = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def make_step(loss_fn, axis="batch"):
    def step(params, batch):
        grads = jax.lax.pmean(jax.grad(loss_fn)(params, batch), axis)
        return params - 0.125 * grads

    return jax.pmap(step, axis, donate_argnums=0)


class DataParallel:
    def __init__(self, loss_fn, axis_name="batch"):
        self.p_step = make_step(loss_fn, axis_name)

    def run(self, params, batches):
        params = jax_utils.replicate(params)
        for batch in batches:
            params = self.p_step(params, shard(batch))
        return jax_utils.unreplicate(params)
"""
INSIDE = """\
import jax.numpy as jnp
import numpy as np

from lib.core import DataParallel

X = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
trainer = DataParallel(lambda w, x: jnp.mean((x @ w - 1) ** 2))
RESULT = np.asarray(trainer.run(jnp.ones(3), [X, X + 1])).tolist()
"""
USER = INSIDE.replace("** 2))", '** 2), axis_name="dp")')


@pytest.mark.parametrize("core", [CORE, HELD, FACTORY], ids=["of the constructor", "held", "of a factory"])
def test_a_user_out_of_sight_may_choose_it(core: str) -> None:
    files = {"setup.py": SETUP, "lib/__init__.py": "", "lib/core.py": core, "main.py": INSIDE}
    after = fix_files(files, "auto")
    assert "pmap(" not in after["lib/core.py"]
    assert "squeeze" not in after["lib/core.py"]
    programs = [
        Program(name, {**texts, "main.py": main})
        for name, texts, main in (
            ("inside", files, INSIDE),
            ("inside, after", after, after["main.py"]),
            ("user", files, USER),
            ("user, after", after, USER),
        )
    ]
    outcomes = run(programs)
    assert [outcomes[one.name]["error"] for one in programs] == [""] * 4
    for name in ("inside", "user"):
        assert outcomes[name]["result"] == outcomes[f"{name}, after"]["result"]


def test_a_program_names_its_own() -> None:
    files = {"core.py": CORE, "main.py": INSIDE.replace("lib.core", "core")}
    assert 'P("batch")' in fix_files(files, "auto")["core.py"]
