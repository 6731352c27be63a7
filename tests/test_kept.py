"""`# jaxmigrate: ignore` keeps a site or an old name in `fix`: all around it computes what it did before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.cli import main
from jaxmigrate.migrate import fix_files
from tests.layouts.running import OBSERVER, Program, run

TRAIN = """\
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(params, batch):
    grads = jax.grad(lambda p: jnp.mean((batch @ p) ** 2))(params)
    return params - 0.01 * jax.lax.pmean(grads, "batch")


@functools.partial(jax.pmap, axis_name="batch")
def loss(params, batch):
    return jax.lax.pmean(jnp.mean((batch @ params) ** 2), "batch")


p_step = jax.pmap(step, axis_name="batch")
scale = jax.pmap(lambda x, key: x * jax.random.uniform(key), axis_name="batch")
params = jax_utils.replicate(jnp.ones(3))
batch = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
params = p_step(params, shard(batch))
keys = jax.random.split(jax.random.key(0), 8)
RESULT = {
    "loss": np.asarray(loss(params, shard(batch))),
    "params": jax_utils.unreplicate(params),
    "scaled": np.asarray(scale(shard(batch), keys)),
}
"""
SHARED = """\
import jax
import jax.numpy as jnp
import numpy as np


def noisy(x, key):
    return jax.lax.pmean(x * jax.random.uniform(key), "i")


once = jax.pmap(noisy, axis_name="i")
again = jax.pmap(noisy, axis_name="i")
x, keys = np.arange(16.0).reshape(8, 2), jax.random.split(jax.random.key(1), 8)
RESULT = np.asarray(once(x, keys))[0], np.asarray(again(x, keys))
"""
ALIAS = """\
import jax
import numpy as np

parallel = jax.pmap
double = parallel(lambda x: 2 * x)
triple = parallel(lambda x: 3 * x)
RESULT = np.asarray(double(triple(np.arange(8.0))))
"""
NESTED = """\
import jax
import numpy as np

outer = jax.pmap(jax.pmap(lambda x: jax.lax.psum(x, ("i", "j")), axis_name="j"), axis_name="i")
RESULT = 0
"""
LIBRARY = """\
import jax
from flax import jax_utils

p_step = jax.pmap(lambda p, x: p - jax.lax.pmean(x, "batch"), axis_name="batch")


def train(params, batch):
    return p_step(jax_utils.replicate(params), batch)
"""
USER = """\
import jax
import numpy as np
from flax import jax_utils

import lib

show = jax.pmap(lambda p: p * 2)
params = lib.train(np.ones(3), np.arange(24.0).reshape(8, 3))
RESULT = np.asarray(jax_utils.unreplicate(show(params)))
"""


def marked(text: str, line: str, comment: str = "# jaxmigrate: ignore") -> str:
    """A text with a comment on the line that begins so."""
    lines = text.splitlines(keepends=True)
    found = [i for i, one in enumerate(lines) if one.startswith(line)]
    assert found
    for i in found:
        lines[i] = f"{lines[i].rstrip()}  {comment}\n"
    return "".join(lines)


OVER_LINES = 'p_step = functools.partial(\n    jax.pmap,\n    axis_name="batch",\n)(step)'
CASES: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "a step": ({"main.py": marked(TRAIN, "p_step =")}, ("main.py p_step = jax.pmap(step",)),
    "a decorator": ({"main.py": marked(TRAIN, "@functools")}, ("main.py @functools.partial(jax.pmap",)),
    "a map of keys": ({"main.py": marked(TRAIN, "scale =")}, ("main.py scale = jax.pmap(",)),
    "by the group of the code": (
        {"main.py": marked(TRAIN, "p_step =", "# jaxmigrate: ignore[JM4]")},
        ("main.py p_step = jax.pmap(step",),
    ),
    "over lines, at the name": (
        {"main.py": marked(TRAIN.replace('p_step = jax.pmap(step, axis_name="batch")', OVER_LINES), "    jax.pmap,")},
        ("main.py     jax.pmap,",),
    ),
    "over lines, at the end": (
        {"main.py": marked(TRAIN.replace('step, axis_name="batch")', 'step,\n    axis_name="batch",\n)'), ")")},
        ("main.py p_step = jax.pmap(",),
    ),
    "one of two maps of a function": ({"main.py": marked(SHARED, "again =")}, ("main.py again = jax.pmap(noisy",)),
    "a map through another name": (
        {"main.py": marked(ALIAS, "double =")},
        ("main.py parallel = jax.pmap", "main.py triple = parallel("),
    ),
    "a map in place": ({"main.py": marked(NESTED, "outer =")}, ("main.py outer = jax.pmap(jax.pmap(",)),
    "in another file": ({"lib.py": LIBRARY, "main.py": marked(USER, "show =")}, ("main.py show = jax.pmap(",)),
    "in a library": ({"lib.py": marked(LIBRARY, "p_step ="), "main.py": USER}, ("lib.py p_step = jax.pmap(",)),
}


def fixed(files: dict[str, str]) -> dict[str, str]:
    """What fix makes of a program whose result somebody looks at."""
    return fix_files({**files, "observer.py": OBSERVER}, layout="auto")


@pytest.fixture(scope="module")
def outcomes() -> dict[str, dict[str, Any]]:
    """What the programs end with, before and after."""
    before = [Program(name, files) for name, (files, _) in CASES.items()]
    after = [Program(f"fixed {name}", fixed(files)) for name, (files, _) in CASES.items()]
    return run([*before, *after])


@pytest.mark.parametrize("name", CASES)
def test_numbers_stay(name: str, outcomes: dict[str, dict[str, Any]]) -> None:
    assert not outcomes[name]["error"]
    assert not outcomes[f"fixed {name}"]["error"]
    assert outcomes[f"fixed {name}"]["result"] == outcomes[name]["result"]


@pytest.mark.parametrize("name", CASES)
def test_what_is_kept_stands_as_it_was(name: str) -> None:
    files, kept = CASES[name]
    after = fixed(files)
    for path, _, start in (one.partition(" ") for one in kept):
        lines = [line for line in files[path].splitlines() if line.startswith(start)]
        assert lines
        assert all(line in after[path].splitlines() for line in lines)


def test_the_rest_is_rewritten() -> None:
    """What no kept map takes or gives may be global; what it shares stays stacked in every map."""
    files, _ = CASES["a map of keys"]
    assert 'in_specs=(P(), P("batch"))' in fixed(files)["main.py"]
    files, _ = CASES["a step"]
    assert "P()" not in fixed(files)["main.py"].partition("def loss")[0].partition("_shard_map(")[2]
    assert "jax_utils.replicate(jnp.ones(3))" in fixed(files)["main.py"]


@pytest.mark.parametrize("codes", ["[JM201]", "[JM410]", "[]"])
def test_other_rules_keep_nothing(codes: str) -> None:
    after = fixed({"main.py": marked(TRAIN, "p_step =", f"# jaxmigrate: ignore{codes}")})["main.py"]
    assert "p_step = jax.pmap" not in after


NAMES = """\
import jax
from jax import tree_map
from jax.experimental import PartitionSpec, maps

a = jax.tree_map(f, x)  # jaxmigrate: ignore
b = jax.tree_map(f, x)
c = tree_map(f, x)  # jaxmigrate: ignore[JM410]
d = tree_map(g, x)
n = jax.lax.psum(1, "i")  # jaxmigrate: ignore
m = jax.lax.psum(1, "i")
"""


def test_old_names_stay_with_what_they_share_an_import() -> None:
    after = fix_files({"main.py": NAMES}, layout="auto")["main.py"].splitlines()
    before = NAMES.splitlines()
    assert "b = jax.tree.map(f, x)" in after
    assert 'm = jax.lax.axis_size("i")' in after
    assert {before[1], before[4], before[6], before[7], before[8]} <= set(after)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_is_told_and_is_no_failure(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        marked(ALIAS.replace("parallel(", "jax.pmap("), "double =") + "y = jax.tree_map(f, x)  # jaxmigrate: ignore\n"
    )
    (project / "main.py").write_text(text, encoding="utf-8")
    assert main(["fix", "main.py", "--report", "r.json", "--report", "r.md", "--report", "r.xml"]) == 0
    out = capsys.readouterr().out
    assert "main.py:5:10 JM491 is kept by the comment on line 5\n" in out
    assert "main.py:8:5 JM491 is kept, as the comment on its line asks\n" in out
    assert out.endswith("3 sites in 1 file: 2 rewritten, 0 left, 1 kept; 1 old name: 0 replaced, 0 left, 1 kept\n")
    report = json.loads((project / "r.json").read_text())
    assert [site["status"] for site in report["sites"]] == ["rewritten", "left", "rewritten"]
    counts = {"sites": 3, "rewritten": 2, "left": 0, "kept": 1, "files_changed": 1}
    assert report["summary"] == {**counts, "grade": "proven"}
    assert "## Kept" in (project / "r.md").read_text()
    assert (project / "r.xml").read_text().count("<skipped") == 2
    assert main(["fix", "main.py", "--check"]) == 0


def test_lint_takes_the_comment_for_one_of_use(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "main.py").write_text(marked(TRAIN, "p_step =") + "x = 1  # jaxmigrate: ignore\n", encoding="utf-8")
    assert main(["lint", "main.py"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert [line for line in told if "silences nothing" in line] == [
        "main.py:31: warning: '# jaxmigrate: ignore' silences nothing here"
    ]
    assert "; 2 uses of pmap: " in told[-1], "the third is kept"


@pytest.mark.parametrize("line", ["a = jax.tree_map", "c = tree_map", "n = jax.lax"])
def test_lint_knows_what_it_keeps_of_old_names(line: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "main.py").write_text(NAMES, encoding="utf-8")
    main(["lint", "main.py"])
    number = next(n for n, one in enumerate(NAMES.splitlines(), 1) if one.startswith(line))
    assert f"main.py:{number}:" not in capsys.readouterr().err
