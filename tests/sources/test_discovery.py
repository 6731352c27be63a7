"""Discovery finds each file once, in one order, and is stopped by nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jaxmigrate.sources import STDIN, Kind, discover


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(*paths: str) -> list[str]:
    found = discover(paths)
    assert not found.errors
    return [file.name for file in found.files]


def test_folders_are_searched_in_a_fixed_order(tree: Path) -> None:
    make(tree, "b.py", "a/z.py", "a/b/c.pyi", "a/book.ipynb", "a/data.txt", "a/script", "Z.py")
    assert names(".") == ["Z.py", "a/b/c.pyi", "a/book.ipynb", "a/z.py", "b.py"]
    assert names("./a/") == ["a/b/c.pyi", "a/book.ipynb", "a/z.py"]
    assert names(str(tree / "a")) == [f"{tree.as_posix()}/a/{name}" for name in ("b/c.pyi", "book.ipynb", "z.py")]


def test_kinds_follow_the_ending_and_named_files_are_python(tree: Path) -> None:
    make(tree, "a.py", "b.pyi", "c.ipynb", "script", "d.txt")
    found = discover(["a.py", "b.pyi", "c.ipynb", "script", "d.txt", "-"])
    kinds = [Kind.PYTHON, Kind.STUB, Kind.NOTEBOOK, Kind.PYTHON, Kind.PYTHON, Kind.STDIN]
    assert [file.kind for file in found.files] == kinds
    assert found.files[-1].name == STDIN


@pytest.mark.parametrize("folder", [".git", ".tox", "__pycache__", "node_modules", "build", "site-packages"])
def test_folders_that_hold_no_source_are_skipped(tree: Path, folder: str) -> None:
    make(tree, f"{folder}/a.py", f"pkg/{folder}/b.py", "pkg/c.py")
    assert names(".") == ["pkg/c.py"]
    assert names(folder) == [f"{folder}/a.py"]


def test_the_copies_of_recorded_runs_are_skipped(tree: Path) -> None:
    make(tree, "wandb/run-20230419_193223-me4w/files/code/a.py", "wandb/offline-run-20230419_193223-x/a.py")
    make(tree, "wandb/sweep.py", "run-20230419_193223-me4w/b.py")
    assert names(".") == ["run-20230419_193223-me4w/b.py", "wandb/sweep.py"]


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "conda-meta/history"])
def test_virtual_environments_are_known_by_their_marks(tree: Path, mark: str) -> None:
    make(tree, f"odd name/{mark}", "odd name/lib/a.py", "b.py")
    assert names(".") == ["b.py"]


def test_each_file_once_however_it_is_named(tree: Path) -> None:
    make(tree, "pkg/a.py", "pkg/b.py")
    (tree / "pkg" / "0link.py").symlink_to("b.py")
    (tree / "other.py").symlink_to(tree / "pkg" / "a.py")
    assert names("pkg/a.py", "pkg", "./pkg", "other.py") == ["pkg/a.py", "pkg/b.py"]
    assert names("pkg") == ["pkg/a.py", "pkg/b.py"]
    assert names("-", "-") == [STDIN]


def test_links_to_folders_are_not_followed_unless_named(tree: Path) -> None:
    make(tree, "real/a.py")
    (tree / "real" / "loop").symlink_to(tree / "real")
    (tree / "link").symlink_to(tree / "real")
    (tree / "real" / "gone.py").symlink_to(tree / "nowhere")
    (tree / "real" / "self.py").symlink_to(tree / "real" / "self.py")
    assert names(".") == ["real/a.py"]
    assert names("link") == ["link/a.py"]


def test_folder_with_a_python_name_is_a_folder(tree: Path) -> None:
    make(tree, "odd.py/inner.py")
    assert names(".") == ["odd.py/inner.py"]


def test_excluded_files_and_folders_are_left_out_unless_named(tree: Path) -> None:
    make(tree, "keep/a.py", "drop/b.py", "keep/c.py")
    found = discover(["."], lambda path, below: path.as_posix() in ("drop", "keep/c.py"))
    assert [file.name for file in found.files] == ["keep/a.py"]
    found = discover(["drop/b.py"], lambda path, below: True)
    assert [file.name for file in found.files] == ["drop/b.py"]


def test_what_cannot_be_looked_at_is_told_once_and_stops_nothing(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tree, "a.py", "locked/b.py", "c.py")
    scandir = os.scandir

    def guarded(path: Path) -> object:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    os.mkfifo(tree / "pipe")
    found = discover([".", "nowhere", "pipe", "bad\0name"])
    assert [file.name for file in found.files] == ["a.py", "c.py"]
    assert [str(error) for error in found.errors] == [
        "locked: permission denied",
        "nowhere: no such file or directory",
        "pipe: neither a file nor a folder",
        "bad\0name: embedded null byte",
    ]
