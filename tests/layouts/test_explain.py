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
