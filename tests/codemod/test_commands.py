"""The rewrite as LibCST's users run it, by the real tool."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from libcst import parse_module
from libcst.codemod import CodemodContext

from jaxmigrate.codemod import PmapToShardMap, RenameOldNames

ROOT = Path(__file__).parents[2]
MAPPED = (
    "import jax\n\n\ndef step(x):\n    return jax.tree_map(lambda a: jax.lax.psum(a, 'i'), x)\n\n\n"
    "p_step = jax.pmap(step, axis_name='i')\n"
)
CONFIGURED = ["commands.PmapToShardMap"]
EXTERNAL = ["-x", "jaxmigrate.codemod.PmapToShardMap"]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The real tool, in a folder."""
    command = [sys.executable, "-m", "libcst.tool", "codemod", *words, "-j", "1", "--no-format"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", [EXTERNAL, CONFIGURED], ids=["external", "configured"])
def test_maps(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "train.py").write_text(MAPPED)
    (tmp_path / "other.py").write_text("x = 1\n")
    (tmp_path / "broken.py").write_text("x = (\n")
    if words is CONFIGURED:
        shutil.copy(ROOT / ".libcst.codemod.yaml", tmp_path)
    done = run(tmp_path, *words, "train.py", "other.py")
    assert done.returncode == 0, done.stderr
    after = (tmp_path / "train.py").read_text()
    assert "pmap" not in after
    assert "tree_map" not in after
    assert "shard_map" in after
    compile(after, "train.py", "exec")
    assert (tmp_path / "other.py").read_text() == "x = 1\n"
    assert run(tmp_path, *words, "broken.py").returncode == 1
    assert (tmp_path / "broken.py").read_text() == "x = (\n"


def test_names_alone(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (tmp_path / "train.py").write_text(MAPPED)
    (tmp_path / "compat.py").write_text("from jax import tree_map\n")
    (tmp_path / "user.py").write_text("from compat import tree_map\n")
    done = run(tmp_path, "-x", "jaxmigrate.codemod.RenameOldNames", ".")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "train.py").read_text() == MAPPED.replace("tree_map", "tree.map")
    assert (tmp_path / "compat.py").read_text() == "from jax.tree import map as tree_map\n"


def test_what_is_left_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import jax\nprint(jax.pmap.__doc__)\n")
    done = run(tmp_path, *EXTERNAL, "train.py")
    assert "train.py:2: JM404" in done.stderr
    assert (tmp_path / "train.py").read_text() == "import jax\nprint(jax.pmap.__doc__)\n"


def test_commands_are_usable_from_python() -> None:
    text = "import jax\ny = jax.tree_map(f, x)\np = jax.pmap(f)\n"
    found = RenameOldNames(CodemodContext()).transform_module(parse_module(text))
    assert found.code == "import jax\ny = jax.tree.map(f, x)\np = jax.pmap(f)\n"
    assert "pmap" not in PmapToShardMap(CodemodContext()).transform_module(parse_module(text)).code


def test_the_room_is_imported_without_libcst() -> None:
    code = "import sys, jaxmigrate.codemod, jaxmigrate.migrate; print('libcst' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
