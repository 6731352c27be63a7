"""`fix --explain FILE:LINE`: every reason with its place, and with what to do about it that then does it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jaxmigrate.cli import main
from tests.layouts.test_evidence import HELPERS, PLAIN, TRAINER

DECLARES = re.compile(r"declare `([\w-]+) = \[\"([^\"]+)\"\]`")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "helpers.py").write_text(HELPERS)
    return tmp_path


def write(**words: str) -> None:
    text = TRAINER
    for word, stands_for in {**PLAIN, **words}.items():
        text = text.replace(word, stands_for)
    Path("train.py").write_text(text)


CASES = {
    "reader": ({"USE": "wandb.log(params)"}, "is passed to wandb.log (line 21)", "readers"),
    "method": ({"USE": "from sinks import sink; sink.put(params)"}, "is passed to", "readers"),
    "replicates": ({"MAKE": "bcast"}, "`params` is `bcast(np.ones((3,), np.float32))` too (line 18)", "replicates"),
    "splits": ({"CUT": "to_devices"}, "might not hold one slice per device (line 20)", "replicates"),
    "replaced": (
        {"main()\n": "class Late:\n    def f(self): ...\n\n\nsetattr(Late, 'f', print)\nmain()\n"},
        "may depend on `f`, which the program monkeypatches (line 29)",
        "never-replaced",
    ),
    "stored": (
        {"return params - ": "return params * NETS['noisy'](1) - ", "import bcast": "import NETS, bcast"},
        "it may depend on the result of NETS['noisy'] (line",
        "equal",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_to_do_does_it(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, why, key = CASES[name]
    if name == "stored":
        Path("helpers.py").write_text(HELPERS + "\n\nNETS = {'noisy': lambda w: w + jax.lax.axis_index('batch')}\n")
    if name == "method":
        Path("sinks.py").write_text("import queue\n\nsink = __import__('q').Sink()\n")
    write(**words)
    before = Path("train.py").read_bytes()
    assert main(["fix", "--explain", "train.py:17"]) == 0
    said = capsys.readouterr().out
    assert 'train.py:17: maps step over "batch"' in said
    assert why in said
    kept = said.count(": stacked")
    declared = dict(DECLARES.findall(said))
    assert key in declared, said
    if name == "splits":
        assert '`splits = ["helpers.to_devices"]`' in said
        key, declared = "splits", {"splits": "helpers.to_devices"}
    Path("pyproject.toml").write_text(f'[tool.jaxmigrate]\n{key} = ["{declared[key]}"]\n')
    assert main(["fix", "--explain", "train.py:17"]) == 0
    said = capsys.readouterr().out
    assert said.count(": stacked") < kept
    assert "  rests on\n    declared: " in said
    assert Path("train.py").read_bytes() == before


FEW = """import jax
import jax.numpy as jnp
from flax import jax_utils
from flax.training import common_utils

devices = jax.devices()[:4]
step = jax.pmap(lambda w, x: w - jax.lax.pmean(x.mean(0), "i"), axis_name="i", devices=devices)
w = jax_utils.replicate(jnp.ones(3))
for i in range(3):
    x = jnp.ones((8, 3)) * i
    w = step(w, common_utils.shard(x))
print(jax_utils.unreplicate(w))
"""


def test_what_lies_on_all_devices_is_put_on_those_of_the_maps(capsys: pytest.CaptureFixture[str]) -> None:
    Path("few.py").write_text(FEW)
    assert main(["fix", "--explain", "few.py:7"]) == 0
    said = capsys.readouterr().out
    assert "declare" not in said
    assert "give `replicate` the list `jax.devices()[:4]`" in said
    assert "`x.reshape(n, -1, *x.shape[1:])` with `n = len(jax.devices()[:4])`" in said
    done = FEW.replace("(jnp.ones(3))", "(jnp.ones(3), jax.devices()[:4])")
    done = done.replace("common_utils.shard(x)", "x.reshape(n, -1, *x.shape[1:])")
    Path("few.py").write_text(done.replace("for i", "n = len(jax.devices()[:4])\nfor i"))
    assert main(["fix", "--explain", "few.py:8"]) == 2
    assert main(["fix", "--explain", "few.py:7"]) == 0
    assert "stacked" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("jnp.full((8, 2, 3), 0.5)", "make it by `jax_utils.replicate`"),
        ("next(iter([np.ones((8, 2, 3), np.float32)]))", "make it by `jax_utils.replicate`"),
        ("np.load('x.npy')", "make it by `jax_utils.replicate`"),
        ("loaders.next_batch()", 'declare `replicates = ["loaders.next_batch"]`'),
    ],
)
def test_no_function_of_jax_or_python_is_to_be_declared(
    made: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "import jax\nimport jax.numpy as jnp\nimport loaders\nimport numpy as np\n"
    text += f"step = jax.pmap(lambda x: x * 2)\nx = {made}\nprint(step(x)[0])\n"
    Path("made.py").write_text(text)
    assert main(["fix", "--explain", "made.py:5"]) == 0
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    ("look", "told"),
    [
        ("wandb.log(w)", "readers"),
        ("for _ in range(3): wandb.log(w)", "take it first"),  # copies in each round cost too much
        ("wandb.log(loss)", "take it first"),  # which no mapped function is given: nobody could be lent it
    ],
)
def test_a_reader_is_to_be_declared_only_where_that_helps(
    look: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = FEW.replace("[:4]", "").replace("print(", f"{look}\nprint(").replace("import jax\n", "import jax, wandb\n")
    text = text.replace('lambda w, x: w - jax.lax.pmean(x.mean(0), "i")', "f").replace("w = step(", "w, loss = step(")
    text = text.replace(
        "devices = ", "def f(w, x):\n    return w - jax.lax.pmean(x.mean(0), 'i'), x.sum()\n\n\ndevices = "
    )
    Path("logs.py").write_text(text)
    assert main(["fix", "--explain", "logs.py:11"]) == 0
    said = capsys.readouterr().out
    assert told in said
    assert ("readers" in said) is (told == "readers")


def test_a_line_without_a_map(capsys: pytest.CaptureFixture[str]) -> None:
    write()
    assert main(["fix", "--explain", "train.py:18"]) == 2
    assert "no map stands at train.py:18; that file has maps at train.py:17" in capsys.readouterr().err


def test_a_wrong_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "--explain", "train.py"]) == 2
    assert "'train.py' is not of the form FILE:LINE, such as train.py:88" in capsys.readouterr().err


def test_explain_writes_nothing_and_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    write()
    assert main(["fix", "--explain", "train.py:17", "--diff"]) == 2
    assert "--explain writes nothing" in capsys.readouterr().err
