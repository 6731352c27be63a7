"""Random keys that are used again: at each step, for several draws, on all devices, or apart where noise must be one.

`key_programs.txt` has programs of both kinds, each with the rules that find something in it; each ran on 8 devices.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode
from tests.rules.whole import HEAD, programs


@pytest.mark.parametrize(("told", "program"), programs("key_programs.txt"))
def test_what_is_told_of_keys(told: list[str], program: str) -> None:
    found = lint([decode(program.encode(), "a.py", Path("/project/a.py"))], Config())
    assert sorted({one.code for one in found}) == told


def test_a_key_of_another_module() -> None:
    texts = {
        "common.py": "import jax\nRNG = jax.random.PRNGKey(0)\n",
        "main.py": HEAD
        + "import common\n"
        + "def step(w, x):\n"
        + "    key = jax.random.fold_in(common.RNG, lax.axis_index('i'))\n"
        + "    noise = 0.1 * jax.random.normal(key, x.shape)\n"
        + "    g = jax.grad(lambda w: jnp.mean(((x + noise) @ w) ** 2))(w)\n"
        + "    return w - 0.1 * lax.pmean(g, 'i')\n"
        + "p_step = jax.pmap(step, axis_name='i')\n"
        + "w = jax_utils.replicate(jnp.ones(3))\n"
        + "for t in range(3):\n"
        + "    w = p_step(w, X)\n",
    }
    sources = [decode(text.encode(), name, Path("/project", name)) for name, text in texts.items()]
    assert [one.code for one in lint(sources, Config())] == ["JM213"]
