"""The whole programs in fixtures/ come out of fix as their `stacked` and `auto` folders say, a folder for each layout.

`python tests/test_fixtures.py` writes those folders anew; read the difference before you commit it.
"""

from __future__ import annotations

import ast
import functools
import itertools
import shutil
from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import plan_sources
from jaxmigrate.sources import decode, read_source

FIXTURES = Path(__file__).parents[1] / "fixtures"
PROGRAMS = sorted(path.parent.name for path in FIXTURES.glob("*/before"))
LAYOUTS = ("stacked", "auto")


@functools.cache
def rewritten(name: str, layout: str) -> dict[str, bytes]:
    """The files of a program that fix changes, as they come out of it, by relative path."""
    root = FIXTURES / name / "before"
    sources = [read_source(path, path.relative_to(root).as_posix()) for path in programs(root)]
    plan, errors = plan_sources([(s.name, s.path or root, s.text) for s in sources], PlanOptions(layout, marks=True))
    assert not errors
    assert [site for site in plan.sites if site.status == "left"] == []
    encode = {s.name: s.encode for s in sources}  # new files are not among them
    return {f.path: encode.get(f.path, str.encode)(f.after) for f in plan.files if f.changed}


def programs(folder: Path) -> list[Path]:
    """The Python files and notebooks below a folder."""
    return sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".ipynb"))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_comes_out_as_kept(name: str, layout: str) -> None:
    kept = FIXTURES / name / layout
    files = {path.relative_to(kept).as_posix(): path.read_bytes() for path in programs(kept)}
    found = rewritten(name, layout)
    assert found
    assert files == found


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_pmap_is_left(name: str, layout: str) -> None:
    for path, raw in rewritten(name, layout).items():
        tree = ast.parse(decode(raw, path, Path(path)).text)
        assert not [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr == "pmap" and is_jax(n.value)]


def is_jax(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "jax"


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "demo"])
def test_lint_is_silent_before_and_after(name: str, tmp_path: Path) -> None:
    for folder in ("before", *LAYOUTS):
        program = tmp_path / folder
        for part in dict.fromkeys(("before", folder)):
            shutil.copytree(FIXTURES / name / part, program, dirs_exist_ok=True)
        sources = [read_source(path) for path in programs(program)]
        changed = {program / path.relative_to(FIXTURES / name / folder) for path in programs(FIXTURES / name / folder)}
        found = [
            f for f in lint(sources, Config()) if f.code < "JM4" or (folder != "before" and Path(f.path) in changed)
        ]
        assert found == [], folder


def write() -> None:
    """Writes the folders of both layouts anew: the files that fix changes."""
    for name, layout in itertools.product(PROGRAMS, LAYOUTS):
        folder = FIXTURES / name / layout
        shutil.rmtree(folder, ignore_errors=True)
        for path, data in rewritten(name, layout).items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)


if __name__ == "__main__":
    write()
