"""Device axes, counts of devices, wrappers and generators of keys, and what is right beside them.

Each program of `device_axis_programs.txt` ran on 8 devices, in one process.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode
from tests.rules.whole import programs


@pytest.mark.parametrize(("told", "program"), programs("device_axis_programs.txt"))
def test_what_is_told_of_device_axes(told: list[str], program: str) -> None:
    found = lint([decode(program.encode(), "a.py", Path("/project/a.py"))], Config())
    assert sorted({one.code for one in found}) == told


def test_a_key_is_given_to_a_pmap_of_another_module() -> None:
    texts = {
        "sampling.py": (
            "import functools\nimport jax\n"
            "@functools.partial(jax.pmap, axis_name='batch')\n"
            "def generate(params, rng):\n"
            "    rng = jax.random.fold_in(rng, jax.lax.axis_index('batch'))\n"
            "    return jax.random.normal(rng, (4,)) * params\n"
        ),
        "train.py": (
            "import jax\nfrom flax import jax_utils\nimport sampling\n"
            "def main(rng, params):\n"
            "    params = jax_utils.replicate(params)\n"
            "    rng, sample_rng = jax.random.split(rng)\n"
            "    return sampling.generate(params, {given})\n"
        ),
    }

    def codes(given: str) -> list[str]:
        sources = [
            decode(text.replace("{given}", given).encode(), name, Path("/project", name))
            for name, text in texts.items()
        ]
        return [one.code for one in lint(sources, Config())]

    assert codes("sample_rng") == ["JM117"]
    assert codes("jax_utils.replicate(sample_rng)") == []


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("local_batch_size = batch_size // jax.local_device_count()", ["JM122"]),
        ("local_batch_size = batch_size // jax.process_count()", []),
        ("host_batch = cfg.batch_size // jax.local_device_count()", ["JM122"]),
        ("local_device_batch = local_batch_size // jax.local_device_count()", []),
        ("total_batch_size = per_device * jax.local_device_count()", []),  # of what one process loads
        ("total_batch_size = per_device * jax.device_count()", []),
        ("total_batch_size = host_batch_size * jax.local_device_count()", []),
        ("batch = per_device * jax.local_device_count()", []),
    ],
)
def test_batches_by_their_names(line: str, told: list[str]) -> None:
    start = "import jax\njax.distributed.initialize()\ndevice_batch_size = batch_size // jax.device_count()\n"
    found = lint([decode(f"{start}{line}\n".encode(), "a.py", Path("/project/a.py"))], Config())
    assert [one.code for one in found if one.code == "JM122"] == told


@pytest.mark.parametrize(
    ("name", "says", "told"),
    [
        ("demo.ipynb", "", []),
        ("demo.ipynb", "jax.distributed.initialize()\n", ["JM122"]),
        ("demo.py", "", ["JM122"]),
    ],
)
def test_a_notebook_says_itself_that_it_runs_as_several_processes(name: str, says: str, told: list[str]) -> None:
    """What it imports may be for others that do."""
    text = f"import jax\nimport common\n{says}mesh = jax.make_mesh((jax.local_device_count(), 1), ('data', 'model'))\n"
    cell: dict[str, object] = {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "source": text,
    }
    notebook = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    texts = {
        name: notebook if name.endswith(".ipynb") else text,
        "common.py": "import jax\ndef setup():\n    jax.distributed.initialize()\n",
    }
    sources = [decode(one.encode(), path, Path("/project", path)) for path, one in texts.items()]
    assert [one.code for one in lint(sources, Config()) if one.code == "JM122"] == told


def test_an_example_is_for_the_machine_that_it_tells_of() -> None:
    text = "import jax\n\n\ndef main():\n    return jax.make_mesh((2, 4), ('rows', 'columns'))\n"

    def codes(path: str) -> list[str]:
        return [one.code for one in lint([decode(text.encode(), path, Path("/project", path))], Config())]

    assert "JM507" in codes("train/mesh.py")
    assert "JM507" not in codes("examples/mesh.py")
