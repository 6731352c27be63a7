"""fix --layout: what it writes, and what it says of each array."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jaxmigrate.cli import main
from jaxmigrate.flow.layout import decide
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.migrate import project

TRAINER = """\
import functools

import jax
import jax.numpy as jnp
from flax import jax_utils
from flax.training.common_utils import shard


def step(params, batch, key):
    noise = jax.random.normal(key, batch.shape)
    grads = jax.grad(lambda p: jnp.mean((batch + noise) @ p))(params)
    return params - jax.lax.pmean(grads, "batch")


def train(params, batches, key):
    p_step = jax.pmap(step, axis_name="batch", donate_argnums=(0,))
    params = jax_utils.replicate(params)
    for batch in batches:
        key, keys = jax.random.split(key)
        params = p_step(params, shard(batch), jax.random.split(keys, jax.device_count()))
    return jax.device_get(jax_utils.unreplicate(params))
"""


@pytest.fixture
def trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "train.py"
    path.write_text(TRAINER, encoding="utf-8")
    return path


def layouts(path: Path, *options: str, status: int = 1) -> tuple[dict[str, str], dict[str, str]]:
    """The layouts of the arguments in the JSON report, and the reasons given."""
    assert main(["fix", str(path), "--check", "--report", "report.json", *options]) == status
    (site,) = json.loads(Path("report.json").read_text(encoding="utf-8"))["sites"]
    arrays = [*site["arguments"], *site["outputs"]]
    return {a["name"]: a["layout"] for a in arrays}, {a["name"]: a["reason"] for a in arrays if "reason" in a}


def test_auto_is_the_default(trainer: Path) -> None:
    found, why = layouts(trainer)
    assert found == {"params": "replicated", "batch": "split", "key": "stacked", "*": "replicated"}
    assert why == {"key": "holds one random key per device"}


def test_stacked_on_demand(trainer: Path) -> None:
    found, why = layouts(trainer, "--layout", "stacked")
    assert set(found.values()) == {"stacked"}
    assert why == {}


def test_configuration_chooses_and_the_option_wins(trainer: Path) -> None:
    Path("pyproject.toml").write_text('[tool.jaxmigrate]\nlayout = "stacked"\n', encoding="utf-8")
    assert set(layouts(trainer)[0].values()) == {"stacked"}
    assert layouts(trainer, "--layout", "auto")[0]["params"] == "replicated"


def test_terminal_names_layouts_and_reasons(trainer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", str(trainer)]) == 0
    told = capsys.readouterr().out
    assert "replicated: params; split: batch; stacked: key -> replicated: result" in told
    assert "stacked key: holds one random key per device" in told


def test_what_is_written(trainer: Path) -> None:
    main(["fix", str(trainer)])
    text = trainer.read_text(encoding="utf-8")
    assert 'in_specs=(P(), P("batch"), P("batch"))' in text
    assert "jax.random.normal(key.squeeze(0), batch.shape)" in text
    assert "params = shard(params, P())" in text
    assert "return jax.device_get(params)" in text
    assert "flax" not in text
    assert "jax_utils" not in text
    before = text
    assert main(["fix", str(trainer)]) == 0
    assert trainer.read_text(encoding="utf-8") == before


def test_markdown_has_a_table_of_layouts(trainer: Path) -> None:
    main(["fix", str(trainer), "--check", "--report", "report.md"])
    text = Path("report.md").read_text(encoding="utf-8")
    assert "| Place | Layouts | Evidence | Stays stacked |" in text
    assert "split: batch" in text


def test_a_fault_of_ours_leaves_everything_stacked_and_says_so(
    trainer: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_: Interpreter) -> bool:
        raise KeyError("spare part")

    monkeypatch.setattr(decide, "follow", fails)
    found, why = layouts(trainer, status=2)
    assert set(found.values()) == {"stacked"}
    told = "following the program failed (KeyError: 'spare part'); please report it"
    assert told in why["*"]
    assert f"train.py:16:14: {told}\n" in (error := capsys.readouterr().err)
    assert "Traceback" not in error
    monkeypatch.setenv("JAXMIGRATE_DEBUG", "1")
    layouts(trainer, status=2)
    assert "in fails" in capsys.readouterr().err


def test_a_fault_of_ours_in_what_is_written_is_told(
    trainer: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All arrays stay stacked where a file cannot be told by which the planning fails: that is no silent affair."""

    def fails(*_: object) -> None:
        raise TypeError("spare part")

    monkeypatch.setattr(project, "choose", fails)
    assert main(["fix", str(trainer), "--check", "--report", "report.json"]) == 2
    error = capsys.readouterr().err
    assert "train.py: following the program failed (TypeError: spare part at test_cli_layouts.py:" in error
    assert "so all arrays stay stacked; please report it\n" in error
    assert "Traceback" not in error
    report = json.loads(Path("report.json").read_text(encoding="utf-8"))
    assert [site["status"] for site in report["sites"]] == ["rewritten"]
    assert "following the program failed" in report["errors"][0]["message"]
    monkeypatch.setenv("JAXMIGRATE_DEBUG", "1")
    assert main(["fix", str(trainer)]) == 2
    assert "in fails" in capsys.readouterr().err
    assert "jax.pmap" not in trainer.read_text(encoding="utf-8")


def test_says_why_nothing_is_global(trainer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One reason for all arrays of a site stands beside its line; several stand below, each with its arrays."""
    computed = TRAINER.replace('axis_name="batch", donate', 'axis_name="batch", in_axes=axes(), donate')
    trainer.write_text(computed, encoding="utf-8")
    assert main(["fix", str(trainer), "--check"]) == 1
    assert (
        "  line 16: all stacked: its in_axes are only known at run time (line 16): `axes()`\n"
        in capsys.readouterr().out
    )
    read = TRAINER.replace("in batches:\n", "in batches:\n        print(params)\n").replace("shard(batch)", "batch")
    trainer.write_text(read, encoding="utf-8")
    assert main(["fix", str(trainer), "--check"]) == 1
    assert capsys.readouterr().out.splitlines()[1:-1] == [
        "  line 16: all stacked",
        "    stacked params, result: is passed to print (line 19)",
        "    stacked batch: might not hold one slice per device (line 21): `batch` gets its value in line 18",
        "    stacked key: holds one random key per device",
    ]
    assert main(["fix", str(trainer), "--check", "--layout", "stacked"]) == 1
    assert capsys.readouterr().out.splitlines()[1:-1] == []
