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


ENTERED = """\
def levels(key, count):
    return jax.random.normal(key, (count, 3))
def main(key, w, ratio):
    key, _rng = jax.random.split(key)
    def find(rng, w):
        if ratio == 0:
            top = levels(_rng, 4)
        else:
            rngs = jax.random.split(rng, 3)
            top = jax.lax.map(lambda k: levels(k, 4), rngs)[0]
        return top @ w
    return jax.pmap(find, axis_name="i")(jax.random.split(key, 8), jax_utils.replicate(w))
print(main(jax.random.key(0), jnp.ones(3), 0.0))
"""


def test_a_shared_key_is_told_where_it_is_handed_on_and_not_where_keys_are_made_of_another() -> None:
    found = lint([decode((HEAD + ENTERED).encode(), "a.py", Path("/project/a.py"))], Config())
    line = HEAD.count("\n") + ENTERED.partition("levels(_rng")[0].count("\n") + 1
    assert [(one.code, one.line) for one in found] == [("JM205", line)]
