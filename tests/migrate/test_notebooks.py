"""fix on notebooks: what is written where, and what stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.cli import main

STEP = "def step(x):\n    return jax.lax.pmean(x, 'i')\n"
MAPPED = "p_step = jax.pmap(step, axis_name='i')"
MAP = """@jax.jit
def p_step(x):
    return jax.shard_map(
        step,
        mesh=mesh_of(x),
        in_specs=P('i'),
        out_specs=P('i'),
        check_vma=False,
    )(x)"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def book(*sources: str, counts: list[int | None] | None = None, language: str = "python") -> str:
    cells: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "execution_count": counts[n] if counts else None,
            "metadata": {"scrolled": True},
            "outputs": [{"name": "stdout", "output_type": "stream", "text": ["jax.pmap \u00e9\n"]}],
            "source": source.splitlines(True),
        }
        for n, source in enumerate(sources)
    ]
    cells.insert(0, {"cell_type": "markdown", "metadata": {}, "source": ["# jax.pmap"]})
    metadata = {"language_info": {"name": language}}
    content = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def sources(path: Path) -> list[str]:
    cells = json.loads(path.read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def fix(folder: Path, text: str, *options: str, status: int = 0) -> list[str]:
    path = folder / "book.ipynb"
    path.write_text(text)
    assert main(["fix", "book.ipynb", *options]) == status
    return sources(path)


def test_helpers_stand_where_they_are_needed_and_imports_where_jax_is_imported(folder: Path) -> None:
    cells = fix(
        folder,
        book(
            "# Set up\n!pip install jax",
            "import jax\nimport jax.numpy as jnp",
            STEP,
            f"import time\n{MAPPED}",
            "p_step",
        ),
        *("--layout", "stacked"),
    )
    assert cells[0] == "# Set up\n!pip install jax"
    imports = "from jax.sharding import Mesh\nfrom jax.sharding import PartitionSpec as P"
    assert cells[1] == f"import jax\nimport jax.numpy as jnp\n{imports}"
    assert cells[2] == STEP  # which only reduces what it is given
    assert cells[3].startswith("import time\n\n\ndef mesh_of(tree):\n")
    assert cells[3].endswith("\n\n\n" + MAP)
    assert cells[4] == "p_step"


@pytest.mark.parametrize("more", ["", "print(jax.devices())"])
def test_a_cell_that_sets_up_a_machine_has_no_other_imports(folder: Path, more: str) -> None:
    setup = f"import jax.tools.colab_tpu\njax.tools.colab_tpu.setup_tpu()\n{more}"
    start = "from functools import partial\nimport jax\nimport numpy as np"
    mapped = "@partial(jax.pmap, axis_name='i')\ndef step(x):\n    return jax.lax.psum(x, 'i') * 2, x"
    text = book(setup, start, f"{mapped}\n\nstep(np.ones((jax.device_count(), 2)))")
    cells = fix(folder, text, status=1)  # JAX has colab_tpu no more
    assert cells[0] == setup
    assert "PartitionSpec as P" in cells[1]


def test_nothing_is_put_above_a_cell_magic(folder: Path) -> None:
    cells = fix(folder, book("%%time\nimport jax", STEP, f"%%time\n%%capture out\n{MAPPED}"), "--layout", "stacked")
    assert cells[0] == "%%time\nimport jax\nfrom jax.sharding import Mesh, PartitionSpec as P"
    assert cells[2].startswith("%%time\n%%capture out\ndef mesh_of(tree):\n")
    assert cells[2].endswith("\n\n\n" + MAP)


def test_a_function_above_a_statement_stands_in_its_cell(folder: Path) -> None:
    shown = "%time y = 1\nprint('shown',\n      type(x))"
    mapped = "# What is mapped.\np_mean = jax.pmap(lambda x, w: [*x, w])"
    cells = fix(folder, book("import jax", shown, mapped, f"%%time\n{mapped}"), "--layout", "stacked")
    assert cells[1] == shown
    assert "def mean_per_device(x, w):\n" in cells[2]
    assert "\n\n\n# What is mapped.\np_mean = jax.jit(" in cells[2]
    assert cells[3].startswith("%%time\ndef _mean_per_device(x, w):\n")


def test_code_behind_magics_is_rewritten(folder: Path) -> None:
    cells = fix(
        folder,
        book("import jax", STEP, MAPPED, "%timeit -n 3 jax.pmap(step, axis_name='i')(x)  # slow", "p_step?"),
        *("--layout", "stacked"),
    )
    assert cells[3].startswith("%timeit -n 3 jax.jit(lambda *args: jax.shard_map(step, mesh=mesh_of(args), ")
    assert cells[3].endswith(", check_vma=False)(*args))(x)  # slow")
    assert "\n" not in cells[3]
    assert cells[4] == "p_step?"


def test_names_are_followed_from_cell_to_cell(folder: Path) -> None:
    text = book(
        "from jax import pmap as spread\nimport jax", "AXIS = 'i'", STEP, "p_step = spread(step, axis_name=AXIS)"
    )
    cells = fix(folder, text, "--layout", "stacked")
    assert cells[3].endswith("\n\n\n" + MAP.replace("'i'", "AXIS"))
    assert cells[1] == "AXIS = 'i'"
    assert not cells[2].endswith("\n\n")
    assert "pmap" not in "".join(cells)


TRAIN_STEP = """\
def step(params, batch):
    grads = jax.lax.pmean(jax.grad(lambda p: ((batch @ p) ** 2).mean())(params), 'i')
    return params - 0.1 * grads"""
GLOBAL = (
    "import jax\nimport jax.numpy as jnp\nfrom flax import jax_utils\nfrom flax.training import common_utils",
    TRAIN_STEP,
    "p_step = jax.pmap(step, axis_name='i')",
    "params = jax_utils.replicate(jnp.ones(3))",
    "%%time\nfor _ in range(3):\n    params = p_step(params, common_utils.shard(jnp.ones((16, 3))))",
    "print(jax_utils.unreplicate(params))",
)


def test_global_arrays_in_cells(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = fix(folder, book(*GLOBAL, counts=[1, 2, 3, 7, 8, 9]))
    assert "pmap" not in "".join(cells)
    assert "replicate" not in cells[5]
    assert cells[4].startswith("%%time\nfor ")
    assert "  cell 4, line 1: replicated: params; split: batch -> replicated: result\n" in capsys.readouterr().out


def test_cells_that_ran_in_another_order_keep_stacked_arrays(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = fix(folder, book(*GLOBAL, counts=[1, 2, 3, 9, 8, 10]))
    assert cells[3] == GLOBAL[3]
    assert cells[5] == GLOBAL[5]
    assert cells[2].startswith(
        "p_step = jax.jit(\n    jax.shard_map(\n        step,\n        mesh=Mesh(jax.devices(), ('i',)),\n"
    )
    assert "in_specs=P('i'),\n" in cells[2]
    assert "book.ipynb: arrays stay stacked, since its cells were last run out of order" in capsys.readouterr().err


def test_what_is_not_rewritten_keeps_every_byte(folder: Path) -> None:
    before = book("import jax", STEP, MAPPED, "%%writefile x.py\njax.pmap(f)").replace('"cells": [', '"cells" :[')
    after = (fix(folder, before, "--layout", "stacked"), (folder / "book.ipynb").read_text())[1]
    changed = ("import jax", "p_step", "def step", "pmean")
    kept = [line for line in before.split("\n") if not any(word in line for word in changed)]
    assert [line for line in after.split("\n") if line in kept] == kept
    assert "%%writefile x.py\\n" in after


def test_a_second_run_changes_nothing(folder: Path) -> None:
    fix(folder, book(*GLOBAL))
    once = (folder / "book.ipynb").read_bytes()
    assert main(["fix", "book.ipynb", "--check"]) == 0
    assert (folder / "book.ipynb").read_bytes() == once


def test_a_notebook_without_maps_is_not_written(folder: Path) -> None:
    path = folder / "book.ipynb"
    path.write_text(book("import jax", "x = 1"))
    path.chmod(0o444)
    before = path.stat()
    assert main(["fix", "."]) == 0
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_diffs_are_of_cells(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = book("import jax", "%time p_step = jax.pmap(lambda x: [*x])")
    fix(folder, text, "--diff", "--layout", "stacked")
    out = capsys.readouterr().out
    assert out.startswith(
        "--- book.ipynb:cell 2\n+++ book.ipynb:cell 2\n@@ -1 +1,4 @@\n+import functools\n+\n import jax\n"
        "+from jax.sharding import Mesh, PartitionSpec as P\n--- book.ipynb:cell 3\n+++ book.ipynb:cell 3\n"
    )
    assert "-%time p_step = jax.pmap(lambda x: [*x])\n+def mesh_of(tree):\n" in out
    last = out.splitlines()[-1]
    assert last.startswith("+%time p_step = jax.jit(lambda *args: jax.shard_map(per_device(lambda x: [*x]), mesh=")
    assert (folder / "book.ipynb").read_text() == text


def test_reports_name_cells(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = book("import jax", "print(jax.pmap.__doc__)", "x = 1\n%time p = jax.pmap(lambda x: x, axis_name='i')")
    options = [part for end in ("json", "md", "html", "xml") for part in ("--report", f"report.{end}")]
    fix(folder, text, *options, status=1)
    assert "book.ipynb:cell 3:1:7 JM404 reads __doc__ of jax.pmap itself" in capsys.readouterr().out
    left, done = json.loads((folder / "report.json").read_text())["sites"]
    assert (left["cell"], left["line"], left["column"]) == (3, 1, 7)
    assert (done["id"], done["path"], done["cell"], done["line"]) == ("book.ipynb:cell 4:2:11", "book.ipynb", 4, 2)
    for end in ("md", "html", "xml"):
        report = (folder / f"report.{end}").read_text()
        assert "book.ipynb:cell 3:1" in report
        assert "book.ipynb:cell 4:2" in report


def test_what_cannot_be_worked_on_stops_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "good.ipynb").write_text(book("import jax", MAPPED))
    (folder / "broken.ipynb").write_text(book("import jax", "jax.pmap(f"))
    (folder / "torn.ipynb").write_text(book("import jax", "import sys", "best = %timeit -o jax.pmap(f)(x)"))
    (folder / "other.ipynb").write_text(book("pmap(x)", language="R"))
    before = {name: (folder / name).read_bytes() for name in ("broken.ipynb", "torn.ipynb", "other.ipynb")}
    assert main(["fix", "."]) == 2
    assert {name: (folder / name).read_bytes() for name in before} == before
    out, err = capsys.readouterr()
    assert "good.ipynb: rewrote 1 site" in out
    assert err.splitlines() == [
        "broken.ipynb:cell 3:1:9: cannot be parsed: '(' was never closed",
        "torn.ipynb:cell 4: cannot be rewritten without changing a magic or a shell line",
        "other.ipynb: skipped: its kernel's language is r, not Python",
    ]


def test_code_for_others_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fix(folder, book("import jax", "%%writefile a.py\njax.pmap(f)"))
    assert capsys.readouterr().err == (
        "book.ipynb:cell 3: mentions pmap, but is not Python (such as %%bash), so it was not rewritten\n"
    )


def test_imports_of_later_cells_are_of_no_help_above(folder: Path) -> None:
    cells = fix(
        folder,
        book("import jax", STEP, MAPPED, "from jax.sharding import Mesh, PartitionSpec as P\nMesh"),
        *("--layout", "stacked"),
    )
    assert cells[0] == "import jax\nfrom jax.sharding import Mesh as _Mesh, PartitionSpec"
    assert "return _Mesh(jax.devices()" in cells[2]
    assert cells[3] == "from jax.sharding import Mesh, PartitionSpec as P\nMesh"


SCRIPT = """import jax
import jax.numpy as jnp
from flax import jax_utils

p_step = jax.pmap(lambda w: w - jax.lax.pmean(w / 3, 'i'), axis_name='i')
state = p_step(jax_utils.replicate(jnp.ones(3)))
print(jax_utils.unreplicate(state))
"""


@pytest.mark.parametrize(
    ("line", "shown", "is_global"),
    [
        ("%run script.py", "state[3]", False),
        ("%run -i ./script.py --steps 2", "state[3]", False),
        ("%run script.py", "other[3]", True),
        ("%run other.py", "state[3]", True),
    ],
)
def test_what_a_notebook_uses_of_a_script_that_it_runs_stays(
    folder: Path, line: str, shown: str, is_global: bool
) -> None:
    (folder / "script.py").write_text(SCRIPT)
    (folder / "use.ipynb").write_text(book(line, shown))
    main(["fix", "."])
    assert ("out_specs=P()" in (folder / "script.py").read_text()) == is_global
    assert sources(folder / "use.ipynb")[-2:] == [line, shown]
