"""What a layout rests on: proof, what the user declares, or what a reader would take for granted."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.cli import main
from jaxmigrate.commands.assumptions import with_declarations
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import plan_sources

TRAINER = """\
import jax
import jax.numpy as jnp
import numpy as np
import wandb
from flax import jax_utils
from flax.training.common_utils import shard

from helpers import bcast, first, save, to_devices


def step(params, batch):
    grads = jax.grad(lambda p: jnp.mean(batch @ p))(params)
    return params - jax.lax.pmean(grads, "batch"), jnp.mean(batch)


def main():
    p_step = jax.pmap(step, axis_name="batch")
    params = MAKE(np.ones((3,), np.float32))
    for i in range(3):
        params, loss = p_step(params, CUT(np.ones((16, 3), np.float32)))
    USE
    print(TAKE(params))


main()
"""
HELPERS = """\
import jax
import numpy as np

KEPT = []


def bcast(tree):
    n = jax.local_device_count()
    return jax.tree.map(lambda x: np.asarray([np.copy(x) for _ in range(n)]), tree)


def to_devices(batch):
    rows = len(batch) // jax.local_device_count()
    return np.stack([batch[i : i + rows] for i in range(0, len(batch), rows)])


def first(tree):
    return jax.tree.map(lambda x: x[[0]].squeeze(0), tree)


def save(params):
    KEPT.append(params)


def saved():
    return [params.nbytes for params in KEPT]
"""
PLAIN = {"MAKE": "jax_utils.replicate", "CUT": "shard", "TAKE": "jax_utils.unreplicate", "USE": "pass"}


@pytest.fixture
def fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs `fix` on the trainer with some of its words replaced; gives the JSON report."""
    monkeypatch.chdir(tmp_path)

    def run(*options: str, config: str = "", helpers: str = HELPERS, **words: str) -> dict[str, Any]:
        text = TRAINER
        for word, stands_for in {**PLAIN, **words}.items():
            text = text.replace(word, stands_for)
        (tmp_path / "train.py").write_text(text)
        (tmp_path / "helpers.py").write_text(helpers)
        (tmp_path / "pyproject.toml").write_text(f"[tool.jaxmigrate]\n{config}")
        assert (
            main(["fix", ".", "--check", "--report", "r.json", "--report", "r.md", "--report", "r.html", *options]) == 1
        )
        found: dict[str, Any] = json.loads((tmp_path / "r.json").read_text())
        return found

    return run


def grades(report: dict[str, Any]) -> dict[str, str]:
    """The layout and grade of the site's arrays, in short."""
    (site,) = report["sites"]
    arrays = [*site["arguments"], *site["outputs"]]
    return {one["name"]: f"{one['layout']} {one.get('grade', '')}".strip() for one in arrays}


def test_all_that_is_proven_says_so(fix: Any, capsys: pytest.CaptureFixture[str]) -> None:
    report = fix()
    assert grades(report) == {
        "params": "replicated proven",
        "batch": "split proven",
        "0": "replicated proven",
        "1": "stacked",
    }
    assert report["summary"]["grade"] == "proven"
    assert report["assumptions"] == []
    assert "proven" not in capsys.readouterr().out
    assert "| proven |" in Path("r.md").read_text()
    assert '<span class="grade proven">proven</span>' in Path("r.html").read_text()


WANDB, SAVE = "`wandb.log` only reads its argument", "`helpers.save` only reads its argument"
CASES = [
    ("readers", "wandb.log", {"USE": "wandb.log({'params': params})"}, f"{WANDB} (train.py:21)"),
    ("readers", "wandb.*", {"USE": "wandb.log(params)"}, f"{WANDB} (train.py:21)"),
    ("readers", "helpers.save", {"USE": "save(params)"}, f"{SAVE} (train.py:21)"),
    ("replicates", "helpers.bcast", {"MAKE": "bcast"}, "`helpers.bcast` gives each device the same (train.py:18)"),
    ("splits", "helpers.to_devices", {"CUT": "to_devices"}, "splits a batch over the devices (train.py:20)"),
]


@pytest.mark.parametrize(("key", "name", "words", "told"), CASES)
def test_a_declaration_makes_arrays_global(
    fix: Any, capsys: pytest.CaptureFixture[str], key: str, name: str, words: dict[str, str], told: str
) -> None:
    without = fix(**words)
    assert "stacked" in {grades(without)["params"], grades(without)["batch"]}
    capsys.readouterr()
    report = fix(config=f'{key} = ["{name}"]', **words)
    found = grades(report)
    assert {found["params"].split()[0], found["batch"].split()[0]} == {"replicated", "split"}
    assert "declared" in " ".join(found.values())
    assert report["summary"]["grade"] == "declared"
    out, err = capsys.readouterr()
    assert f"declared: {told}" in out or told in out
    assert out.splitlines()[-1].endswith("; not proven: depends on 1 declaration")
    assert "nothing uses" not in err
    assert "## Not proven" in Path("r.md").read_text()
    assert "grade declared" in Path("r.html").read_text()


def test_one_slice_is_taken_where_that_is_declared(fix: Any) -> None:
    assert "print(first(stack(params)))" in fix(TAKE="first")["files"][1]["diff"]
    report = fix(config='unreplicates = ["helpers.first"]', TAKE="first")
    assert "+    print(params)" in report["files"][1]["diff"]
    assert grades(report)["params"] == "replicated declared"
    assert [one["says"] for one in report["assumptions"]] == ["`helpers.first` takes the first device's slice"]


def test_what_is_proven_anyway_stays_proven(fix: Any, capsys: pytest.CaptureFixture[str]) -> None:
    report = fix(config='readers = ["wandb.log", "clu.*"]')
    assert report["summary"]["grade"] == "proven"
    assert 'nothing uses "clu.*" of tool.jaxmigrate.readers' in capsys.readouterr().err


def test_equal_results(fix: Any) -> None:
    noisy = HELPERS + "\n\nNETS = {'noisy': lambda w: w + jax.lax.axis_index('batch')}\n"
    words = {"print(": "print(loss[0], "}
    for name in ("train.main.loss", "train.loss", "train.step[1]"):
        report = fix(config=f'equal = ["{name}"]', helpers=noisy, **words)
        assert grades(report)["1"] == "replicated declared", name
        assert grades(report)["params"] == "replicated proven"
    assert grades(fix(config='equal = ["train.step[0]"]', helpers=noisy, **words))["1"] == "stacked"


PROCESSES = {"import numpy as np\n": "import numpy as np\n\nN = jax.process_index()\n"}


@pytest.mark.parametrize("layout", ["auto", "stacked"])
def test_one_process(fix: Any, capsys: pytest.CaptureFixture[str], layout: str) -> None:
    words = {**PROCESSES, "USE": "wandb.log(loss)"}
    several = fix("--layout", layout, **words)
    capsys.readouterr()
    alone = fix("--layout", layout, config="processes = 1", **words)
    assert [("host_local" in str(found["files"])) for found in (several, alone)] == [True, False]
    assert (several["summary"]["grade"], alone["summary"]["grade"]) == ("proven", "declared")
    assert several["assumptions"] == []
    assert alone["assumptions"] == [
        {
            "grade": "declared",
            "says": "the program runs as one process",
            "path": "helpers.py",
            "line": 8,
            "declaration": {"key": "processes", "name": "1"},
        }
    ]
    out, err = capsys.readouterr()
    assert "declared: the program runs as one process (helpers.py:8)" in out
    assert out.splitlines()[-1].endswith("; not proven: depends on 1 declaration")
    assert "nothing" not in err
    assert fix("--require", "proven", "--layout", layout, config="processes = 1", **words)
    assert "--require proven is not met: part of the rewrite is only declared" in capsys.readouterr().err


@pytest.mark.parametrize("layout", ["auto", "stacked"])
def test_one_process_of_a_program_that_asks_nothing(fix: Any, capsys: pytest.CaptureFixture[str], layout: str) -> None:
    helpers = HELPERS.replace("jax.local_device_count()", "8")
    report = fix("--layout", layout, config="processes = 1", helpers=helpers)
    assert report["assumptions"] == []
    said = "pyproject.toml: tool.jaxmigrate.processes has no effect: it makes no map shorter"
    assert said in capsys.readouterr().err


def test_likely_reads(fix: Any, capsys: pytest.CaptureFixture[str]) -> None:
    report = fix("--layout", "likely", USE="wandb.log(params)")
    assert grades(report)["params"] == "replicated likely"
    assert grades(report)["batch"] == "split proven"
    (one,) = report["assumptions"]
    assert one == {
        "grade": "likely",
        "says": "`wandb.log` only reads its argument",
        "path": "train.py",
        "line": 21,
        "declaration": {"key": "readers", "name": "wandb.log"},
    }
    out = capsys.readouterr().out
    assert "assumed: `wandb.log` only reads its argument (train.py:21)" in out
    assert out.splitlines()[-1].endswith("; not proven: depends on 1 assumption")


def test_likely_reads_of_methods_that_no_class_has(fix: Any) -> None:
    words = {"USE": "boards[0].show(params)", "def main():": "def main(boards=()):"}
    assert grades(fix(**words))["params"] == "stacked"
    report = fix("--layout", "likely", **words)
    assert grades(report)["params"] == "replicated likely"
    assert report["assumptions"][0]["says"] == "`boards[0].show` only reads its argument"
    own = HELPERS + "\n\nclass Board:\n    def show(self, tree):\n        KEPT.append(tree[1])\n"
    assert grades(fix("--layout", "likely", helpers=own, **words))["params"] == "stacked"
    keeps = {**words, "USE": "boards[0].put(params)"}
    assert grades(fix("--layout", "likely", **keeps))["params"] == "stacked"


def test_likely_equal_of_libraries(fix: Any) -> None:
    words = {
        "return params - ": "return clipping.clip(params, 3.0) - ",
        "import wandb": "import clipping\nimport wandb",
    }
    assert grades(fix(**words))["params"] == "stacked"
    report = fix("--layout", "likely", **words)
    assert grades(report)["params"] == "replicated likely"
    assert report["assumptions"][0]["says"] == "`clipping.clip` gives the same on every device"
    drawn = {
        "return params - ": "return params * hk.next_rng_key() - ",
        "import wandb": "import haiku as hk\nimport wandb",
    }
    assert grades(fix("--layout", "likely", **drawn))["params"] == "stacked"


FIELDS = """\
import jax
import jax.numpy as jnp
import numpy as np
import clipping
import flax
from flax import jax_utils
from flax.training.common_utils import shard


@flax.struct.dataclass
class State:
    params: jax.Array
    seen: jax.Array


def step(state, batch):
    grads = jax.lax.pmean(jax.grad(lambda p: jnp.mean(batch @ p))(state.params), "batch")
    return state.replace(params=state.params - clipping.clip(grads), seen=jnp.mean(batch)), jnp.mean(batch)


def main():
    p_step = jax.pmap(step, axis_name="batch")
    params = jax_utils.replicate(State(np.ones((3,), np.float32), np.zeros(())))
    for i in range(3):
        params, loss = p_step(params, shard(np.ones((16, 3), np.float32)))
    print(jax_utils.unreplicate(params))


main()
"""


def test_likely_judges_each_field() -> None:
    sources = [("main.py", Path("/project/main.py"), FIELDS)]
    for layout, expected in (("auto", "stacked"), ("likely", "replicated")):
        found, _ = plan_sources(sources, PlanOptions(layout))
        (site,) = found.sites
        arguments = {one.name: one.layout for one in site.arguments}
        assert arguments["state"] == expected, layout
    assert arguments["state.seen"] == "stacked"


def test_likely_replaced(fix: Any) -> None:
    words = {"main()\n": "class Late:\n    def f(self): ...\n\n\nsetattr(Late, 'f', print)\nmain()\n"}
    assert grades(fix(**words))["params"] == "stacked"
    assert grades(fix("--layout", "likely", **words))["params"] == "replicated likely"
    assert grades(fix(config='never-replaced = ["f"]', **words))["params"] == "replicated declared"


def test_likely_stored(fix: Any) -> None:
    stored = HELPERS + "\n\nNETS = {'noisy': lambda w: w + jax.lax.axis_index('batch')}\n"
    words = {"return params - ": "return params * NETS['noisy'](1) - ", "import bcast": "import NETS, bcast"}
    assert grades(fix(helpers=stored, **words))["params"] == "stacked"
    report = fix("--layout", "likely", helpers=stored, **words)
    assert grades(report)["params"] == "replicated likely"
    assert report["assumptions"][0]["says"] == "`NETS['noisy']` gives the same on every device"
    assert report["assumptions"][0]["declaration"] == {"key": "equal", "name": "train.step[0]"}
    assert grades(fix(config='equal = ["train.step[0]"]', helpers=stored, **words))["params"] == "replicated declared"


def test_what_differs_for_sure_is_never_assumed_equal(fix: Any) -> None:
    words = {"return params - ": "return params * jax.lax.axis_index('batch') - "}
    assert grades(fix("--layout", "likely", **words))["params"] == "stacked"


def test_likely_uncalled(fix: Any) -> None:
    words = {"\n\nmain()\n": "\n    return params\n"}
    assert grades(fix(**words))["params"] == "stacked"
    report = fix("--layout", "likely", **words)
    assert grades(report)["params"] == "replicated likely"
    assert report["assumptions"][0]["says"] == "`main` is called only in the files given"


def test_assumptions_become_declarations(fix: Any, tmp_path: Path) -> None:
    fix("--layout", "likely", "--write-assumptions", config='readers = ["clu.*"]', USE="wandb.log(params)")
    text = (tmp_path / "pyproject.toml").read_text()
    assert tomllib.loads(text)["tool"]["jaxmigrate"] == {"readers": ["clu.*", "wandb.log"]}
    assert "# `wandb.log` only reads its argument (train.py:21)" in text
    report = fix(config=text.partition("\n")[2], USE="wandb.log(params)")
    assert grades(report)["params"] == "replicated declared"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[project]\nname = 'x'\n",
        "[tool.jaxmigrate]\n",
        "[tool.jaxmigrate]\nreaders = []\nlayout = 'auto'\n[tool.other]\nx = 1\n",
        "[tool.jaxmigrate]  # ours\r\nreaders = [\r\n    'a.b',  # ] why\r\n]\r\n",
        "[tool.jaxmigrate]\nreaders = ['x', \"y]\"]",
        "[tool.jaxmigrate]\nlayout = 'auto'",
    ],
)
def test_declarations_are_added_to_any_table(text: str) -> None:
    before = tomllib.loads(text).get("tool", {}).get("jaxmigrate", {})
    wanted = {"readers": {"wandb.log": "it reads", "a.b": "so does it"}, "apart": {"tools/x.py": "alone"}}
    after = tomllib.loads(with_declarations(text, wanted))["tool"]["jaxmigrate"]
    assert {*after["readers"]} == {*before.get("readers", ()), "wandb.log", "a.b"}
    assert after["apart"] == ["tools/x.py"]
    assert {k: v for k, v in after.items() if k not in wanted} == {k: v for k, v in before.items() if k not in wanted}


def test_a_table_that_cannot_be_added_to() -> None:
    with pytest.raises(ValueError, match="give it a header of its own"):
        with_declarations("tool.jaxmigrate.readers = ['x']\n", {"readers": {"y": "z"}})


def test_verify_knows_what_was_declared(tmp_path: Path) -> None:
    """Of an original, what `fix` makes with the project's declarations is no rewrite by hand."""
    from jaxmigrate.commands.assumptions import declared_in
    from jaxmigrate.commands.inputs import load
    from jaxmigrate.commands.original import find_original

    text = TRAINER
    for word, stands_for in {**PLAIN, "MAKE": "bcast"}.items():
        text = text.replace(word, stands_for)
    for folder in ("before", "after"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "train.py").write_text(text)
        (tmp_path / folder / "helpers.py").write_text(HELPERS)
        (tmp_path / folder / "pyproject.toml").write_text('[tool.jaxmigrate]\nreplicates = ["helpers.bcast"]\n')
    after = tmp_path / "after"
    assert main(["fix", str(after), "-q"]) == 0
    (inputs,) = load([str(after)])
    known = declared_in(inputs.config)
    assert not find_original(str(after), str(tmp_path / "before"), inputs.sources, {}, known).by_hand
    assert find_original(str(after), str(tmp_path / "before"), inputs.sources, {}).by_hand
