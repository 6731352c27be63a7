"""Which files can run in one process, told by their texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from jaxmigrate.program.import_graph import ImportGraph
from jaxmigrate.program.modules import Project

ROOT = Path("/project")


def graph(texts: Mapping[str, str], given: Collection[str] = ()) -> ImportGraph:
    files = {ROOT / name: text for name, text in texts.items()}
    return ImportGraph(Project((), files.get, files, ROOT), files, [ROOT / name for name in given])


def names(paths: Collection[Path]) -> set[str]:
    return {path.relative_to(ROOT).as_posix() for path in paths}


def together(texts: Mapping[str, str], *start: str, given: Collection[str] = ()) -> set[str]:
    return names(graph(texts, given).together([ROOT / name for name in start]))


PACKAGE = {"pkg/__init__.py": "import noisy\n", "pkg/step.py": "", "noisy.py": ""}


@pytest.mark.parametrize("text", ["import pkg.step\n", "from pkg.step import f\n", "from pkg import step\n"])
def test_packages_on_the_way_run(text: str) -> None:
    found = graph({**PACKAGE, "main.py": text})
    assert names(found.imported(ROOT / "main.py")) == {"pkg/__init__.py", "pkg/step.py"}
    assert names(found.imported(ROOT / "pkg/step.py")) == {"pkg/__init__.py"}
    assert names(found.together([ROOT / "main.py"])) == {"main.py", "pkg/__init__.py", "pkg/step.py", "noisy.py"}


def test_names_behind_comments_are_imported() -> None:
    text = "from pkg import (  # (all)\n    first,  # of it\n    # nothing (\n    second as other,\n)\n"
    files = {"pkg/__init__.py": "", "pkg/first.py": "", "pkg/second.py": "", "main.py": text}
    assert names(graph(files).imported(ROOT / "main.py")) == {"pkg/__init__.py", "pkg/first.py", "pkg/second.py"}


def test_programs_that_share_nothing_are_apart() -> None:
    texts = {"a.py": "import lib\n", "lib.py": "", "b.py": "import other\n", "other.py": ""}
    assert together(texts, "lib.py") == {"a.py", "lib.py"}
    assert together(texts, "lib.py", "other.py") == {*texts}


def test_who_imports_what_loads_a_file_by_its_name_runs_with_it() -> None:
    loader = "import importlib\nplugin = importlib.import_module('plugins.step')\n"
    texts = {"main.py": "import loader\n", "loader.py": loader, "plugins/step.py": "", "b.py": ""}
    assert together(texts, "plugins/step.py") == {"main.py", "loader.py", "plugins/step.py"}
    assert together(texts, "main.py") == {"main.py", "loader.py", "plugins/step.py"}


def test_a_name_that_is_not_said_counts_where_the_program_is_given() -> None:
    loader = "import importlib, sys\nplugin = importlib.import_module(sys.argv[1])\n"
    texts = {"loader.py": loader, "step.py": "", "b.py": ""}
    assert together(texts, "step.py") == {"step.py"}
    assert together(texts, "step.py", given=["loader.py"]) == {*texts}
    assert together(texts, "loader.py") == {*texts}


@pytest.mark.parametrize(
    "text", ["import gin\n", "from hydra import main\n", "from importlib.metadata import entry_points\n"]
)
def test_libraries_that_load_what_a_configuration_names(text: str) -> None:
    assert together({"main.py": text, "noisy.py": ""}, "main.py") == {"main.py", "noisy.py"}


def test_configurations_run_with_the_programs_that_take_them() -> None:
    texts = {
        "train.py": "from ml_collections import config_flags\nconfig_flags.DEFINE_config_file('config')\n",
        "configs/a.py": "def get_config():\n    return {}\n",
        "other.py": "",
    }
    for start in ("train.py", "configs/a.py"):
        assert together(texts, start) == {"train.py", "configs/a.py"}


def test_of_what_may_be_loaded_only_some_files_matter() -> None:
    files = {ROOT / "main.py": "import gin\n", ROOT / "a.py": "axis_index", ROOT / "b.py": ""}
    found = ImportGraph(Project((), files.get, files, ROOT), files, (), lambda text: "axis_index" in text)
    assert names(found.together([ROOT / "main.py"])) == {"main.py", "a.py"}
