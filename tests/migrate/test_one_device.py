"""An argument that is not mapped and lies on one device: pmap copied it to all devices, and so does the helper."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.migrate.forms.running import Program, run

OPENING = """import functools
import jax
import jax.numpy as jnp
from flax import jax_utils

x = jnp.arange(16.0).reshape(8, 2)


def step(w, x):
    return x * w + jax.lax.pmean(x, "i")


"""
ALONE = {
    "unreplicated": """p_step = jax.pmap(step, "i", in_axes=(None, 0))


def main():
    return p_step(jax_utils.unreplicate(jax_utils.replicate(jnp.ones(2))), x)
""",
    "one slice of a result": """p_step = jax.pmap(step, axis_name="i", in_axes=(None, 0))


def main():
    w = jax.pmap(lambda x: x)(x)[0]
    return p_step(w, x), p_step(2.0, x)
""",
    "another device": """class Trainer:
    def __init__(self):
        self.w = jax.device_put({"a": jnp.ones(2)}, jax.devices()[3])
        self.step = jax.pmap(lambda w, x: step(w["a"], x), axis_name="i", in_axes=(None, 0))

    def run(self):
        return self.step(self.w, x)


def main():
    return Trainer().run()
""",
    "with static arguments": """@functools.partial(
    jax.pmap, axis_name="i", in_axes=(None, 0, None), static_broadcasted_argnums=2
)
def twice(w, x, again):
    return step(w, x) if again else x


def main():
    first = jax.tree.map(lambda x: x[0], jax_utils.replicate(jnp.ones(2)))
    return twice(first, x, True), twice(first, x, False)
""",
    "where there may be processes": """p_step = jax.pmap(step, axis_name="i", in_axes=(None, 0), out_axes=1)


def main():
    print(jax.local_device_count())
    return p_step(jax_utils.unreplicate(jax_utils.replicate(jnp.ones(2))), x)
""",
}
ANYWHERE = {
    "a number": "p_step = jax.pmap(step, 'i', in_axes=(None, 0))\ny = jax_utils.unreplicate(p_step(0.5, x))\n",
    "a fresh array": "p_step = jax.pmap(step, 'i', in_axes=(None, 0))\nw = jnp.ones(2)\ny = p_step(w, x)[0]\n",
    "a mapped slice": "p_step = jax.pmap(step, 'i', in_axes=(None, 0))\ny = p_step(1.0, jnp.stack([x[0]] * 8))\n",
}


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str]:
    files = {name: {"main.py": OPENING + text} for name, text in ALONE.items()}
    found = run(Program(name, before, fix_files(before)) for name, before in files.items())
    return {v.name: "" if v.verdict == "agrees" else f"{v.verdict}: {v.text[:3000]}" for v in found}


@pytest.mark.parametrize("name", ALONE)
def test_agrees(name: str, verdicts: dict[str, str]) -> None:
    after = fix_files({"main.py": OPENING + ALONE[name]})["main.py"]
    assert "def everywhere" in after
    assert not verdicts[name], f"{verdicts[name]}\n{after}"


@pytest.mark.parametrize("name", ANYWHERE)
def test_what_lies_nowhere_in_particular_costs_no_code(name: str) -> None:
    after = fix_files({"main.py": OPENING + ANYWHERE[name]})["main.py"]
    assert "_shard_map_stacked" in after
    assert "everywhere" not in after
