"""Keeps a verification from leaving anything behind, however it ends, and removes what others have left.

Where the verifier is killed, a process of its own does what the verifier can no longer do; where both are, the next
verification removes the folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "jaxmigrate-"
_OWNER = "owner"


class Guard:
    """Tells the guardian which process groups are running."""

    def __init__(self, process: subprocess.Popen[str] | None) -> None:
        self._process = process

    def add(self, group: int) -> None:
        """A process group was started."""
        self._tell(f"+{group}")

    def drop(self, group: int) -> None:
        """It was ended, with all that it started."""
        self._tell(f"-{group}")

    def done(self) -> None:
        """Everything is ended and removed."""
        self._tell("done")
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(5)

    def _tell(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError, ValueError):
                self._process.stdin.write(f"{line}\n")
                self._process.stdin.flush()


@contextmanager
def guarded(folder: Path) -> Iterator[Guard]:
    """A guard for the scratch folder, until that is removed."""
    _own(folder)
    guard = Guard(_started(folder))
    try:
        yield guard
    finally:
        guard.done()


def _own(folder: Path) -> None:
    """Write whose folder it is, at once: another verification may look at it while this one writes."""
    draft = folder / f"{_OWNER}.new"
    draft.write_text(name_of(os.getpid()))
    draft.replace(folder / _OWNER)


def _started(folder: Path) -> subprocess.Popen[str] | None:
    command = [sys.executable, "-I", "-S", str(Path(__file__).with_name("guardian.py")), str(folder)]
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            cwd=os.sep,
        )
    except OSError:
        return None


def name_of(pid: int) -> str:
    """A process's number, with the time of its start where the kernel tells: numbers are used again."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return f"{pid} {fields[19].decode()}"
    return f"{pid}"


def sweep() -> None:
    """Remove the scratch folders of verifications that no longer run."""
    with suppress(OSError):
        for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
            with suppress(OSError, ValueError):
                owner = (folder / _OWNER).read_text()
                if not _lives(owner) and folder.stat().st_uid == os.getuid():
                    remove(folder)


def _lives(owner: str) -> bool:
    pid = int(owner.split(maxsplit=1)[0])
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return name_of(pid) == owner


def remove(folder: Path) -> None:
    """Remove a folder in which a program may have left read-only places."""
    for place, names, _ in os.walk(folder):
        for name in names:
            if not os.path.islink(os.path.join(place, name)):
                with suppress(OSError):
                    os.chmod(os.path.join(place, name), 0o700)
    shutil.rmtree(folder, ignore_errors=True)
