"""The arrays that one process leaves on disk, one after the other in one file: a file for each takes longer.

The bytes are in the kernel's hands before the log says where they are, so that what a log names can be read even if the
program is killed at once.
"""

from __future__ import annotations

import os
import threading
from typing import Any

from .content import SMALL, bytes_of


class Arrays:
    """The file of a process, opened when the first array is left there."""

    def __init__(self, folder: str) -> None:
        self.place = os.path.join(folder, str(os.getpid()))
        self.descriptor: int | None = None
        self.end = 0
        self.lock = threading.Lock()

    def write(self, pieces: list[Any]) -> tuple[int, int]:
        """Leave the bytes of all pieces there, in a row; where they begin, and how many there are."""
        buffers = [bytes_of(piece) for piece in pieces]
        size = sum(map(len, buffers))
        if size <= SMALL:
            buffers = [b"".join(buffers)]
        with self.lock:
            if self.descriptor is None:
                self.descriptor = os.open(self.place, os.O_WRONLY | os.O_CREAT, 0o600)
            start = position = self.end
            for buffer in buffers:
                position = _write(self.descriptor, buffer, position)
            # Only now, so that the next array takes the place of one that the disk had no room for.
            self.end = position
        return start, size


def _write(descriptor: int, data: Any, position: int) -> int:
    """Write all of some bytes from a position on; the position after them."""
    while len(data):
        written = os.pwrite(descriptor, data, position)
        data, position = data[written:], position + written
    return position
