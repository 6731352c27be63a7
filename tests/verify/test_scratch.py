"""The copy of a project: complete enough to run, cheap, and never a way back into the user's files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jaxmigrate.verify.child import overlay
from jaxmigrate.verify.model import VerifyError
from jaxmigrate.verify.scratch import LINK_FROM, copy_tree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in ("src/pkg/a.py", "data/small.csv", ".git/HEAD", "src/pkg/__pycache__/a.pyc", "env/bin/python"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "env/pyvenv.cfg").write_text("home = /usr")
    with (root / "data/large.bin").open("wb") as file:
        file.truncate(LINK_FROM)
    return root


def test_sources_and_small_files_are_copied(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy_tree(root, copy, {})
    for name in ("src/pkg/a.py", "data/small.csv"):
        assert (copy / name).read_text() == name
        assert not (copy / name).is_symlink()
    assert os.stat(copy / "src/pkg/a.py").st_mtime == os.stat(root / "src/pkg/a.py").st_mtime


def test_caches_are_left_out_and_environments_linked(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy_tree(root, copy, {})
    assert not (copy / ".git").exists()
    assert not (copy / "src/pkg/__pycache__").exists()
    assert (copy / "env").is_symlink()
    assert (copy / "env/bin/python").read_text() == "env/bin/python"


def test_overlay_replaces_adds_and_leaves_the_project_alone(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    (root / "link.py").symlink_to("src/pkg/a.py")
    copy_tree(root, copy, {"src/pkg/a.py": b"marked", "new/b.py": b"new", "link.py": b"mine"})
    assert (copy / "src/pkg/a.py").read_text() == "marked"
    assert (copy / "new/b.py").read_text() == "new"
    assert (copy / "link.py").read_text() == "mine"
    assert (root / "src/pkg/a.py").read_text() == "src/pkg/a.py"


def test_links_within_the_project_stay_within_the_copy(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    outside = tmp_path / "outside.txt"
    outside.write_text("outside")
    (root / "relative").symlink_to("data/small.csv")
    (root / "absolute").symlink_to(root / "data/small.csv")
    (root / "up").symlink_to("../outside.txt")
    copy_tree(root, copy, {})
    assert (copy / "relative").resolve() == (copy / "absolute").resolve() == copy / "data/small.csv"
    assert (copy / "up").read_text() == "outside"


def test_overlay_does_not_follow_a_link_out_of_the_project(root: Path, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (root / "vendored").symlink_to(tmp_path / "shared")
    with pytest.raises(VerifyError, match="is reached through a symlink"):
        copy_tree(root, tmp_path / "copy", {"vendored/x.py": b""})
    assert [*(tmp_path / "shared").iterdir()] == []


def test_large_file_is_linked_until_it_is_written(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copied = copy_tree(root, copy, {})
    large = copy / "data/large.bin"
    assert copied.links == [large]
    assert large.is_symlink()
    overlay._LINKS.update((str(link), str(link)) for link in copied.links)
    for arguments in ((str(large), "rb", os.O_RDONLY), (str(large), None, os.O_RDONLY), (3, "wb", 0)):
        overlay._before_open("open", arguments)
    assert large.is_symlink()
    overlay._before_open("open", (str(large), "r+b", os.O_RDWR))
    assert not large.is_symlink()
    large.write_bytes(b"mine")
    assert (root / "data/large.bin").stat().st_size == LINK_FROM


def test_import_paths_lead_into_the_copy(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy_tree(root, copy, {})

    def led(entry: Path) -> str:
        return overlay.redirected(str(entry), str(root), str(copy))

    assert led(root) == str(copy)
    assert led(root / "src") == str(copy / "src")
    assert led(root / "env/bin") == str(root / "env/bin")  # an environment is linked, not copied
    assert led(root / "nowhere") == str(root / "nowhere")
    assert led(tmp_path / "project2") == str(tmp_path / "project2")
