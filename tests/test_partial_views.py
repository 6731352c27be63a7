"""fix on a part of a project: programs of which one file is rewritten compute what they did before.

Each program has a `main.py` that sets `RESULT`. It runs on 8 simulated devices as it was, and again with what
`jaxmigrate fix GIVEN` wrote.
"""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from jaxmigrate.cli import main
from jaxmigrate.reports.fix_result import FixedFile, FixResult
from tests.layouts.running import OBSERVER, Program, run

STEP = """\
import functools

import jax
import jax.numpy as jnp
from flax import jax_utils
from flax.training.common_utils import shard


@functools.partial(jax.pmap, axis_name="batch")
def step(params, batch):
    return jax.lax.psum(jnp.sum(params * batch), "batch")


def loss(params, batch):
    return jax_utils.unreplicate(step(jax_utils.replicate(params), shard(batch)))
"""
CALLS_STEP = """\
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

import lib

params, batch = jnp.asarray(4.5), np.arange(8.0).reshape(8, 1)
RESULT = np.asarray(lib.step(jax_utils.replicate(params), shard(batch))), np.asarray(lib.loss(params, batch))
"""
CALLS_LOSS = """\
import numpy as np

import lib

RESULT = np.asarray(lib.loss(np.float32(4.5), np.arange(8.0).reshape(8, 1)))
"""
TRAINER = """\
import jax
import jax.numpy as jnp
from flax import jax_utils
from flax.training.common_utils import shard


class Trainer:
    def __init__(self, params):
        self.params = jax_utils.replicate(params)
        self.p_step = jax.pmap(self.step, axis_name="batch")

    def step(self, params, batch):
        return params - jax.lax.pmean(jnp.mean(batch, 0), "batch")

    def train(self, batch):
        self.params = self.p_step(self.params, shard(batch))

    def result(self):
        return jax_utils.unreplicate(self.params)
"""
USES_TRAINER = """\
import numpy as np

from lib import Trainer

trainer = Trainer(np.ones(3, np.float32))
trainer.train(np.arange(48, dtype=np.float32).reshape(16, 3))
RESULT = np.asarray(trainer.result())
"""
ALIAS = """\
import jax

parallel = jax.pmap


def double(x):
    return parallel(lambda x: 2 * x)(x)
"""
USES_ALIAS = """\
import jax
import numpy as np

import lib

rows, offset = np.arange(16.0).reshape(8, 2), np.float32(3)
add = lib.parallel(lambda x, y: jax.lax.psum(x + y, "i"), axis_name="i", in_axes=(0, None), out_axes=0)
RESULT = np.asarray(add(rows, offset)), np.asarray(lib.double(rows))
"""


class View(NamedTuple):
    """A program, the paths that fix is given, and whether some array may become a global one."""

    files: dict[str, str]
    given: tuple[str, ...] = ("lib.py",)
    is_global: bool = False
    told: str = "main.py"


def later(text: str, *pairs: tuple[str, str]) -> str:
    """A text with each first of a pair replaced by the second."""
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


BY_STRING = 'import importlib\n\nlib = importlib.import_module("lib")\n'
DECORATOR = '@functools.partial(jax.pmap, axis_name="batch")\n'
MAPS_ITSELF = (("lib.step(", 'jax.pmap(lib.step, "batch")('),)
SHARDS = (
    ("import lib\n", "import lib\nfrom lib import shard\n"),
    ("8, 1)))", "8, 1))), shard(np.ones(8))"),
)
DERIVED = (
    ("import numpy as np\n", "import jax\nimport numpy as np\n"),
    (
        "trainer = Trainer(",
        """\
class Other(Trainer):
    def step(self, params, batch):
        return super().step(params, batch) + jax.lax.axis_index("batch")


trainer = Other(""",
    ),
)


VIEWS = {
    "the caller makes the arrays": View({"lib.py": STEP, "main.py": CALLS_STEP}),
    "nobody crosses over": View({"lib.py": STEP, "main.py": CALLS_LOSS}, is_global=True),
    "the caller is given": View({"lib.py": STEP, "main.py": CALLS_STEP}, ("main.py",), told=""),
    "the caller imports by name": View(
        {"lib.py": STEP, "main.py": later(CALLS_STEP, ("import lib\n", "from lib import loss, step\n"), ("lib.", ""))}
    ),
    "the caller imports by string": View({"lib.py": STEP, "main.py": later(CALLS_STEP, ("import lib\n", BY_STRING))}),
    "the caller is behind another module": View(
        {
            "lib.py": STEP,
            "between.py": "from lib import loss, step\n",
            "main.py": later(CALLS_STEP, ("import lib\n", "import between as lib\n")),
        },
        told="between.py",
    ),
    "a test beside the package calls it": View(
        {
            "pyproject.toml": "[project]\nname = 'p'\n",
            "src/lib.py": STEP,
            "main.py": later(CALLS_STEP, ("import lib\n", 'import sys\n\nsys.path.insert(0, "src")\nimport lib\n')),
        },
        ("src",),
    ),
    "the package has callers above": View(
        {
            "lib/__init__.py": "",
            "lib/steps.py": STEP,
            "main.py": later(CALLS_STEP, ("import lib\n", "from lib import steps as lib\n")),
        },
        ("lib/steps.py",),
    ),
    "nobody looks into the trainer": View({"lib.py": TRAINER, "main.py": USES_TRAINER}, is_global=True),
    "the caller looks at the whole array": View(
        {"lib.py": TRAINER, "main.py": later(USES_TRAINER, ("trainer.result()", "trainer.params"))},
        is_global=True,
    ),
    "the caller takes the first slice": View(
        {"lib.py": TRAINER, "main.py": later(USES_TRAINER, ("trainer.result()", "trainer.params[0]"))},
        is_global=True,
    ),
    "the caller sets the array": View(
        {
            "lib.py": TRAINER,
            "main.py": later(
                USES_TRAINER,
                ("trainer.train(", "trainer.params = np.arange(24, dtype=np.float32).reshape(8, 3)\ntrainer.train("),
            ),
        },
        is_global=True,
    ),
    "the caller derives a class": View(
        {"lib.py": TRAINER, "main.py": later(USES_TRAINER, *DERIVED, ("trainer.result()", "trainer.params"))},
        is_global=True,
    ),
    "the caller maps what is mapped here too": View(
        {
            "lib.py": later(STEP, (DECORATOR, ""), ("unreplicate(step(", 'unreplicate(jax.pmap(step, "batch")(')),
            "main.py": later(CALLS_STEP, ("import jax.", "import jax\nimport jax."), *MAPS_ITSELF),
        },
        is_global=True,
    ),
    "the caller gives an array of one device": View(
        {
            "lib.py": "import jax\n\nscale = jax.pmap(lambda x, by: x * by, in_axes=(0, None))\n",
            "main.py": "import jax\nimport jax.numpy as jnp\nimport numpy as np\n\nimport lib\n\n"
            "by = jax.device_put(jnp.arange(3.0), jax.devices()[0])\n"
            "RESULT = np.asarray(lib.scale(np.arange(24.0).reshape(8, 3), by))\n",
        }
    ),
    "the caller gives the alias more keywords": View({"lib.py": ALIAS, "main.py": USES_ALIAS}),
    "the caller imports what is imported here": View(
        {"lib.py": STEP, "main.py": later(CALLS_LOSS, *SHARDS)},
        is_global=True,
    ),
}  # fmt: skip


class Fixed(NamedTuple):
    """A program as fix left it, what it told on standard error, and its report."""

    files: dict[str, str]
    told: str
    report: dict[str, Any]


def fixed(view: View, folder: Path) -> Fixed:
    """Runs fix in a folder of its own, with a file that looks at the result."""
    for path, text in {**view.files, "observer.py": OBSERVER}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    report = folder.with_suffix(".json")
    with pytest.MonkeyPatch.context() as patch, redirect_stderr(io.StringIO()) as told, redirect_stdout(io.StringIO()):
        patch.chdir(folder)
        main(["fix", *view.given, "--report", str(report)])
    after = {path: (folder / path).read_text(encoding="utf-8") for path in view.files}
    return Fixed(after, told.getvalue(), json.loads(report.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Fixed]:
    return {name: fixed(view, tmp_path_factory.mktemp("view")) for name, view in VIEWS.items()}


@pytest.fixture(scope="module")
def outcomes(results: dict[str, Fixed]) -> dict[str, dict[str, Any]]:
    """What the programs end with, before and after."""
    before = [Program(name, view.files) for name, view in VIEWS.items()]
    return run([*before, *(Program(f"fixed {name}", one.files) for name, one in results.items())])


@pytest.mark.parametrize("name", VIEWS)
def test_numbers_stay(name: str, outcomes: dict[str, dict[str, Any]]) -> None:
    assert not outcomes[name]["error"]
    assert not outcomes[f"fixed {name}"]["error"]
    assert outcomes[f"fixed {name}"]["result"] == outcomes[name]["result"]


@pytest.mark.parametrize("name", VIEWS)
def test_only_what_is_given_changes(name: str, results: dict[str, Fixed]) -> None:
    view, after = VIEWS[name], results[name].files
    changed = {path for path, text in view.files.items() if after[path] != text}
    assert all(any(Path(path).is_relative_to(given) for given in view.given) for path in changed)
    assert bool(changed) == bool(view.told)


@pytest.mark.parametrize("name", VIEWS)
def test_what_does_not_cross_over_is_global(name: str, results: dict[str, Fixed]) -> None:
    arrays = [array for site in results[name].report["sites"] for array in (*site["arguments"], *site["outputs"])]
    assert any(array["layout"] in ("replicated", "split") for array in arrays) == VIEWS[name].is_global


@pytest.mark.parametrize("name", VIEWS)
def test_says_which_files_it_had_to_fit(name: str, results: dict[str, Fixed]) -> None:
    told = VIEWS[name].told
    assert results[name].report["callers"] == ([told] if told else [])
    if told:
        assert f"note: {told} uses rewritten code, but fix was not given it" in results[name].told
    else:
        assert "note:" not in results[name].told


def test_nothing_is_said_of_the_whole(tmp_path: Path) -> None:
    found = fixed(View({"lib.py": STEP, "main.py": CALLS_STEP}, (".",)), tmp_path)
    assert found.report["callers"] == []
    assert "note:" not in found.told


def test_excluded_files_take_no_part(tmp_path: Path) -> None:
    """Who excludes a file says that it is not of the program."""
    configured = {"pyproject.toml": '[tool.jaxmigrate]\nexclude = ["old"]\n', "old/main.py": CALLS_STEP, "lib.py": STEP}
    found = fixed(View(configured), tmp_path)
    assert found.report["callers"] == []
    assert "P()" in found.files["lib.py"]


def test_a_notebook_that_calls_it_is_read(tmp_path: Path) -> None:
    cell: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": f"{CALLS_STEP}print(RESULT)\n",
    }
    kernel = {"kernelspec": {"language": "python", "name": "python3", "display_name": "Python"}}
    notebook = json.dumps({"cells": [cell], "metadata": kernel, "nbformat": 4, "nbformat_minor": 5})
    found = fixed(View({"lib.py": STEP, "main.ipynb": notebook}), tmp_path)
    assert found.report["callers"] == ["main.ipynb"]
    assert "P()" not in found.files["lib.py"]


def test_a_file_named_by_another_way_is_the_same(tmp_path: Path) -> None:
    """The path given goes up and down again, which the paths of what imports it do not."""
    (tmp_path / "here").mkdir()
    view = View({"pyproject.toml": "", "lib.py": STEP, "main.py": CALLS_STEP}, ("sub/../lib.py",))
    (tmp_path / "here" / "sub").mkdir()
    found = fixed(view, tmp_path / "here")
    assert found.report["callers"] == ["main.py"]
    assert "P()" not in found.files["lib.py"]


def test_standard_input_is_no_whole_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(STEP.encode())))
    assert main(["fix", "-"]) == 0
    assert "note: standard input was taken for the whole program" in capsys.readouterr().err


def test_a_file_that_did_not_verify_was_given_all_the_same() -> None:
    written = FixedFile("lib.py", "written", (), b"a diff", callers=("main.py", "other.py"))
    result = FixResult([written, FixedFile("./main.py", "withheld", ())])
    assert result.callers == ("other.py",)
