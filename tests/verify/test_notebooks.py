"""Notebooks are programs too: their cells run in order, before and after, without what only IPython can do."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.cli import main
from jaxmigrate.commands import Failure, verification
from jaxmigrate.commands.notebooks import laid_out
from jaxmigrate.config import Config
from jaxmigrate.sources import decode

TRAINER = (
    "!pip install jax\n%matplotlib inline\nimport asyncio\nimport jax\nimport jax.numpy as jnp",
    "def step(params, rows):\n    return params - 0.1 * jax.lax.pmean(rows.mean(), 'i')",
    "p_step = jax.pmap(step, axis_name='i')\nparams = jax.device_put(jnp.stack([jnp.ones(3)] * jax.device_count()))",
    "await asyncio.sleep(0)",
    "%%time\nfor n in range(3):\n    %time params = p_step(params, n * jnp.ones((16, 3)).reshape(8, -1, 3))",
    "print(params[0])",
)


def book(*sources: str, tags: tuple[str, ...] = ()) -> bytes:
    cells: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {"tags": list(tags)},
            "outputs": [],
            "source": source.splitlines(True),
        }
        for source in sources
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def run(folder: Path, raw: bytes, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a notebook's cells as a verification does, without its recorder."""
    (folder / "inner").mkdir(exist_ok=True)
    source = decode(raw, "book.ipynb", Path("book.ipynb"))
    for name, content in laid_out(source, "inner/book.ipynb", source.text).items():
        (folder / name).write_bytes(content)
    command = [sys.executable, *options, "-m", "jaxmigrate.verify.child.notebook", "inner/book.ipynb"]
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_cells_run_in_order_in_the_folder_of_the_notebook(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "beside.py").write_text("VALUE = 3\n")
    done = run(
        tmp_path,
        book(
            "import os, sys\nfrom beside import VALUE\nx = VALUE",
            "%cd /\n!exit 1\nfiles = !ls\n%%time",
            "%%bash\nexit 1",
            "async def later():\n    return x + 1\ny = await later()",
            "    z = y + 1",
            "get_ipython().run_line_magic('matplotlib', 'inline')\ndisplay(x, y, z)",
            "print(__name__, os.path.basename(os.getcwd()), sys.argv, files, get_ipython().user_ns is globals())",
        ),
    )
    assert done.stderr == ""
    shown = f"__main__ inner [{str(tmp_path / 'inner' / 'book.ipynb')!r}] [] True"
    assert done.stdout.splitlines() == ["3", "4", "5", shown]


def test_what_one_cell_starts_goes_on_in_the_next(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        book(
            "import asyncio\nasync def work():\n    await asyncio.sleep(0.01)\n    print('done')",
            "task = asyncio.get_running_loop().create_task(work())\nawait asyncio.sleep(0)",
            "await task",
        ),
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_errors_name_the_cell(tmp_path: Path) -> None:
    done = run(tmp_path, book("def f():\n    return 1 / 0", "x = 1\nf()  # here", "print('not reached')"))
    assert (done.returncode, done.stdout) == (1, "")
    assert 'book.ipynb:cell 2", line 2, in <module>\n    f()  # here\n' in done.stderr
    assert 'book.ipynb:cell 1", line 2, in f\n    return 1 / 0\n' in done.stderr


def test_cells_whose_authors_expect_an_error_stop_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, book("1 / 0", "print('reached')", tags=("raises-exception",)))
    assert (done.returncode, done.stdout) == (0, "reached\n")
    assert "ZeroDivisionError" in done.stderr


def test_a_notebook_without_a_command_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = ("-m", "jaxmigrate_child.notebook", "a.ipynb")
    options = argparse.Namespace(program=None, path="a.ipynb", original_python=None)
    (one,) = verification.commands(Config(), options)
    assert one.command == (sys.executable, *runner)
    options = argparse.Namespace(program=["a.ipynb"], paths=["."], original_python="python3.10")
    (one,) = verification.commands(Config(), options)
    assert one.command == ("python", *runner)
    options = argparse.Namespace(program=["python", "a.ipynb"], path="b.py")
    (one,) = verification.commands(Config(), options)
    assert one.command == ("python", "a.ipynb")
    with pytest.raises(Failure, match="nothing to run"):
        verification.commands(Config(), argparse.Namespace(program=None, paths=["a.ipynb", "b.ipynb"]))


def test_marks_go_into_the_notebook_itself_as_well() -> None:
    source = decode(book("%time y = f(x)"), "a.ipynb", Path("a.ipynb"))
    marked = source.text.replace("f(x)", "__jaxmigrate_mapped__('a', f)(x)")
    files = laid_out(source, "b/a.ipynb", marked)
    assert json.loads(files["b/a.ipynb"])["cells"][0]["source"] == ["%time y = __jaxmigrate_mapped__('a', f)(x)"]
    assert json.loads(files["b/.a.ipynb.cells.json"])[0][1].startswith("y = __jaxmigrate_mapped__('a', f)(x)")
    source = decode(book("y = %timeit -o f(x)"), "a.ipynb", Path("a.ipynb"))
    files = laid_out(source, "a.ipynb", source.text.replace("f(x)", "__jaxmigrate_mapped__('a', f)(x)"))
    assert files["a.ipynb"] == source.raw


def test_the_mesh_notebook_runs_on_this_jax_without_a_deprecation_warning(tmp_path: Path) -> None:
    rewritten = Path(__file__).parents[2] / "fixtures" / "mesh_notebook" / "auto" / "meshes.ipynb"
    devices = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "NPROC": "64", "JAX_PLATFORMS": "cpu"}
    done = run(tmp_path, rewritten.read_bytes(), "-Werror::DeprecationWarning", **devices)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "{'batch': (32,), 'scaled': (32,)}"


def test_fix_verifies_a_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").touch()
    Path("a.ipynb").write_bytes(book(*TRAINER))
    assert main(["fix", "a.ipynb", "--verify", "--report", "report.json"]) == 0
    out, err = capsys.readouterr()
    assert "verification: bitwise equal: 1 of 1 sites exercised, 3 calls compared" in out
    assert "verifying 1 site in 1 file with: the cells of a.ipynb" in err
    report = json.loads(Path("report.json").read_text())
    (site,) = report["verification"]["sites"]
    assert (site["site"]["id"], site["site"]["cell"], site["site"]["line"]) == ("a.ipynb:cell 3:1:10", 3, 1)
    assert report["verification"]["notes"] == [
        "2 magic and shell lines of a.ipynb did nothing in these runs, such as `!pip install jax` (a.ipynb:cell 1)"
    ]
    assert "pmap" not in Path("a.ipynb").read_text()
    assert "%time params = p_step(" in Path("a.ipynb").read_text()
