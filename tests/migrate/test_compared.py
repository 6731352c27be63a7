"""What compares a function with pmap itself goes the same way as before: both are replaced, or neither is."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate.project import fix_files

TAKES = "import jax\n\ndef run(transform, f, x):\n    if {test}:\n        x = x[None]\n    return transform(f)(x)\n"
PASSES = "run(jax.pmap, f, x)\n"
IMPORTS = "import jax\nfrom takes import run\n"


@pytest.mark.parametrize(
    "test", ["transform == jax.pmap", "transform is not jax.pmap", "transform in (jax.pmap, jax.vmap)"]
)
@pytest.mark.parametrize("layout", ["stacked", "likely"])
def test_both_sides_are_one_function(test: str, layout: str) -> None:
    after = fix_files({"takes.py": TAKES.format(test=test) + PASSES}, layout)["takes.py"]
    assert f"if {test}:".replace("jax.pmap", "shard_map_stacked") in after
    assert "jax.pmap" not in after


@pytest.mark.parametrize(
    "test", ["transform == jax.pmap", "transform in [jax.pmap]", "{jax.pmap: True}.get(transform)"]
)
def test_functions_of_two_files_are_not_equal(test: str) -> None:
    files = {"takes.py": TAKES.replace("{test}", test), "passes.py": IMPORTS + PASSES}
    assert fix_files(files) == files


def test_by_way_of_a_third_file() -> None:
    registry = "MAPS = []\n\ndef register(f):\n    MAPS.append(f)\n"
    files = {
        "registry.py": registry,
        "one.py": "import jax\nfrom registry import register\nregister(jax.pmap)\n",
        "two.py": "import jax\nfrom registry import MAPS\ndef find():\n    return jax.pmap in MAPS\n",
        "main.py": "import one, two\nprint(two.find())\n",
    }
    assert fix_files(files) == files


def test_two_tests_do_not_meet() -> None:
    files = {
        "a_test.py": TAKES.format(test="transform == jax.pmap") + PASSES,
        "b_test.py": "import jax\ncheck(jax.pmap)\n",
    }
    assert not any("jax.pmap" in text for text in fix_files(files).values())


def test_what_is_called_is_not_compared() -> None:
    files = {"takes.py": TAKES.format(test="transform == jax.pmap"), "other.py": "import jax\np = jax.pmap(f)\n"}
    after = fix_files(files)
    assert after["takes.py"] == files["takes.py"]
    assert "jax.pmap" not in after["other.py"]
