"""Programs that lie side by side in one project do not keep each other's arrays stacked, unless they share code."""

from __future__ import annotations

import pytest

from tests.layouts.running import plan

TRAIN = """\
import functools

import jax
import jax.numpy as jnp
from flax import jax_utils


def scale(x):
    return 0.5 * x


@functools.partial(jax.pmap, axis_name="i")
def step(w, x):
    return w - jax.lax.pmean(scale(jnp.mean(x) * w), "i")


def main():
    w, x = jax_utils.replicate(jnp.ones(3)), jnp.arange(float(jax.local_device_count()))
    w = step(w, x)
    print(jax_utils.unreplicate(w))


if __name__ == "__main__":
    main()
"""
PATCHED = TRAIN.replace(
    "    main()\n", "    setattr(Model, 'step', lambda self, x: jax.lax.axis_index('i') * x)\n    main()\n"
)
MODEL = "\n\nclass Model:\n    def step(self, x):\n        return x\n"
METHOD = TRAIN.replace("scale(jnp.mean(x) * w)", "Model().step(jnp.mean(x) * w)")


def layouts(files: dict[str, str]) -> dict[str, str]:
    """By file, the layout of the parameters that its one site takes."""
    return {site.path: site.arguments[0].layout for site in plan(files).sites}


FILES = {"one/train.py": METHOD + MODEL, "two/train.py": PATCHED.replace("def main", MODEL.strip() + "\n\n\ndef main")}


def test_what_one_program_replaces_is_its_own() -> None:
    assert layouts(FILES) == {"one/train.py": "replicated", "two/train.py": "stacked"}


@pytest.mark.parametrize(
    "other",
    [
        "import one.train\nimport two.train\n\none.train.main()\ntwo.train.main()\n",
        "import importlib\n\nimport two.train\n\nimportlib.import_module('one.train').main()\n",
    ],
)
def test_programs_that_run_in_one_process_are_one(other: str) -> None:
    assert layouts(FILES | {"both.py": other})["one/train.py"] == "stacked"
