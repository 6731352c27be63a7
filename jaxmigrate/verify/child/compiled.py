"""Lets XLA compile once what the runs of one verification have in common: most of a program is not migrated.

JAX keeps what it has compiled under the text of it, the flags and its own version, and takes no notice of others that
write at the same time. So every process has a folder to itself while it runs, and those that come later use it again.
"""

from __future__ import annotations

import os
from contextlib import suppress

_FOLDER = "JAX_COMPILATION_CACHE_DIR"
_SHORTEST = "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"
_MOST_AT_ONCE = 64
_HELD: list[int] = []


def keep_compiled(folder: str) -> None:
    """Have JAX keep what it compiles below `folder`; nothing is done where that is empty, or the user has another."""
    given = os.environ.get(_FOLDER, "")
    if not folder or (given and not given.startswith(os.path.join(folder, ""))):
        return
    place = _free(folder)
    if place:
        os.environ[_FOLDER] = place
        os.environ.setdefault(_SHORTEST, "0")
    else:
        os.environ.pop(_FOLDER, None)


def _free(folder: str) -> str:
    """A folder that no other process uses; the lock on it ends with this process."""
    with suppress(ImportError, OSError):
        import fcntl

        os.makedirs(folder, exist_ok=True)
        for number in range(_MOST_AT_ONCE):
            place = os.path.join(folder, str(number))
            descriptor = os.open(f"{place}.lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
                continue
            _HELD.append(descriptor)
            return place
    return ""
