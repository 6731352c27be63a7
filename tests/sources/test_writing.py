"""A file is the whole old one or the whole new one, and everything about it but its bytes stays."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from jaxmigrate.sources import SourceError, decode, read_source, replace_bytes, write_source


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_bytes(b"\xef\xbb\xbfx = 1\r\ny = 2")
    return path


def listing(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_replaces_text_and_keeps_encoding_and_endings(file: Path) -> None:
    source = read_source(file)
    write_source(source, source.text.replace("1", "'é'"))
    assert file.read_bytes() == "\ufeffx = 'é'\r\ny = 2".encode()
    assert listing(file.parent) == ["a.py"]


@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600, 0o664])
def test_keeps_mode_and_owner(file: Path, mode: int) -> None:
    file.chmod(mode)
    if os.geteuid() == 0:
        os.chown(file, 4321, 4321)
    before = file.stat()
    replace_bytes(file, b"new")
    after = file.stat()
    assert stat.S_IMODE(after.st_mode) == mode
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino


def test_keeps_extended_attributes(file: Path) -> None:
    try:
        os.setxattr(file, "user.note", b"kept")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    replace_bytes(file, b"new")
    assert os.getxattr(file, "user.note") == b"kept"


def test_writes_through_a_link(file: Path, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    link = tmp_path / "sub" / "link.py"
    link.symlink_to("../a.py")
    write_source(read_source(link), "z = 3\n")
    assert link.is_symlink()
    assert file.read_bytes() == b"\xef\xbb\xbfz = 3\n"
    assert listing(tmp_path / "sub") == ["link.py"]


def test_refuses_a_file_that_changed_since(file: Path) -> None:
    source = read_source(file)
    file.write_bytes(b"somebody else's work")
    with pytest.raises(SourceError, match="changed since it was read"):
        write_source(source, "z = 3\n")
    assert file.read_bytes() == b"somebody else's work"
    assert listing(file.parent) == ["a.py"]


def test_refuses_a_file_that_is_gone(file: Path) -> None:
    source = read_source(file)
    file.unlink()
    with pytest.raises(SourceError, match="no such file"):
        write_source(source, "z = 3\n")
    assert listing(file.parent) == []


def test_refuses_a_read_only_file(file: Path) -> None:
    before = file.read_bytes()
    source = read_source(file)
    file.chmod(0o444)
    with pytest.raises(SourceError, match=r"a\.py: is read-only"):
        write_source(source, "z = 3\n")
    assert file.read_bytes() == before
    assert listing(file.parent) == ["a.py"]


def _not_allowed(handle: int, user: int, group: int) -> None:
    raise PermissionError(1, "Operation not permitted")


def test_refuses_when_the_owner_cannot_be_kept(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 99999)
    monkeypatch.setattr(os, "fchown", _not_allowed)
    with pytest.raises(SourceError, match="belongs to another user or group"):
        replace_bytes(file, b"new")
    assert listing(file.parent) == ["a.py"]


def test_standard_input_is_not_a_file_to_write(file: Path) -> None:
    with pytest.raises(SourceError, match="standard input"):
        write_source(decode(b"x = 1\n", "<stdin>"), "x = 2\n")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_no_interruption_leaves_a_trace(
    file: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException
) -> None:
    before = file.read_bytes()

    def broken(*args: object) -> None:
        raise error

    monkeypatch.setattr(os, step, broken)
    with pytest.raises((SourceError, KeyboardInterrupt, MemoryError)):
        write_source(read_source(file), "z = 3\n")
    assert file.read_bytes() == before
    assert listing(file.parent) == ["a.py"]


def test_the_text_is_checked_before_anything_is_touched(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"# coding: latin-1\nx = 1\n")
    with pytest.raises(SourceError, match="does not exist in the file's encoding"):
        write_source(read_source(path), "# coding: latin-1\nx = '\u2192'\n")
    assert listing(tmp_path) == ["a.py"]


def test_long_names_leave_room_for_the_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 251 + ".py")
    path.write_bytes(b"x = 1\n")
    replace_bytes(path, b"x = 2\n")
    assert path.read_bytes() == b"x = 2\n"
