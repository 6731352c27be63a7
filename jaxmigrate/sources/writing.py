"""Replaces a file so that whoever looks, at any moment, sees the whole old one or the whole new one."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from jaxmigrate.sources.decoding import SourceError, SourceFile, os_reason


def write_source(source: SourceFile, text: str) -> None:
    """Replaces a source file's text, keeping its encoding, byte order mark, mode, owner, and a link that leads to it.

    Raises:
        SourceError: The text does not fit the encoding, the file is read-only or changed since it was read, or the
            system refuses. The file is then as it was, and nothing else is left behind.
    """
    if source.path is None:
        raise SourceError(source.name, "standard input cannot be written to")
    replace_bytes(source.path, source.encode(text), expected=source.raw, name=source.name)


def create_source(source: SourceFile, text: str) -> None:
    """Writes a source file that is not there yet.

    Raises:
        SourceError: There is one by now, or the system refuses.
    """
    assert source.path is not None
    try:
        with _temporary(source.path) as temporary:
            temporary.write_bytes(source.encode(text))
            temporary.chmod(0o666 & ~_umask())
            os.link(temporary, source.path)
        _sync_folder(source.path.parent)
    except OSError as error:
        raise SourceError(source.name, f"cannot be written: {os_reason(error)}") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def may_be_created(source: SourceFile) -> bool:
    """Whether a file is not there and its folder is open to us."""
    return source.path is not None and not source.path.exists() and os.access(source.path.parent, os.W_OK)


def is_writable(source: SourceFile) -> bool:
    """Whether a source file is there, as it was read, and open to us, so that nothing is known to keep us from it."""
    try:
        return source.path is not None and _may_be_replaced(source.path.resolve(strict=True), source.raw)
    except OSError:
        return False


def _may_be_replaced(target: Path, expected: bytes) -> bool:
    return _is_open_to_us(target) and os.access(target.parent, os.W_OK) and target.read_bytes() == expected


def _is_open_to_us(target: Path) -> bool:
    return bool(target.stat().st_mode & stat.S_IWUSR) and os.access(target, os.W_OK)


def replace_bytes(path: Path, data: bytes, expected: bytes | None = None, name: str | None = None) -> None:
    """Replaces an existing file's bytes atomically.

    Args:
        path: The file, or a link to it.
        data: Its new bytes.
        expected: What it must hold right before, if that matters.
        name: What messages call it, by default the path.

    Raises:
        SourceError: As `write_source`.
    """
    shown = path.as_posix() if name is None else name
    try:
        target = path.resolve(strict=True)
        status = target.stat()
        if not _is_open_to_us(target):
            raise SourceError(shown, "is read-only, so it was not rewritten")
        with _temporary(target) as temporary:
            _fill(temporary, data, status, shown)
            _copy_attributes(target, temporary)
            if expected is not None and target.read_bytes() != expected:
                raise SourceError(shown, "changed since it was read, so it was not rewritten")
            os.replace(temporary, target)
        _sync_folder(target.parent)
    except OSError as error:
        raise SourceError(shown, f"cannot be written: {os_reason(error)}") from error


@contextlib.contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """A new file beside the target, gone afterwards unless it was moved. Its ending hides it from other tools."""
    import tempfile  # what only reads does not wait for it

    handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".jaxmigrate-tmp", dir=target.parent)
    try:
        os.close(handle)
        yield Path(name)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def _fill(temporary: Path, data: bytes, status: os.stat_result, shown: str) -> None:
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        if hasattr(os, "fchown") and (os.geteuid(), os.getegid()) != (status.st_uid, status.st_gid):
            _keep_owner(file.fileno(), status, shown)
        os.chmod(temporary, stat.S_IMODE(status.st_mode))
        os.fsync(file.fileno())


def _keep_owner(handle: int, status: os.stat_result, shown: str) -> None:
    try:
        os.fchown(handle, status.st_uid, status.st_gid)
    except PermissionError:
        message = "belongs to another user or group, which fix cannot keep, so it was not written; run it as that user"
        raise SourceError(shown, message) from None


def _copy_attributes(target: Path, temporary: Path) -> None:
    if not hasattr(os, "listxattr"):
        return
    with contextlib.suppress(OSError):
        for attribute in os.listxattr(target):
            with contextlib.suppress(OSError):
                os.setxattr(temporary, attribute, os.getxattr(target, attribute))


def _sync_folder(folder: Path) -> None:
    """Makes the rename itself durable, where the system lets a folder be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
