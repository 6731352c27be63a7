"""Takes apart what several devices hold of many arrays, one after the other in a row, and tells which of them differ.

Most of what a mapped program holds is the same on all devices, call after call, and so is what differs: a key for each
device is another one in every call. So a row is compared in a few long pieces, and what has been seen to differ is read
device by device from then on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple


class Part(NamedTuple):
    """Where the bytes of an array are in what is read of each device: from where, to where."""

    start: int
    stop: int


class _Piece(NamedTuple):
    """Arrays next to each other in a row that have been alike on all devices; a single one if it `differs`."""

    start: int
    stop: int
    numbers: tuple[int, ...]
    differs: bool


class _Layout(NamedTuple):
    """How a row is cut, and memory for what the first device has of each piece, one set for each thread at work.

    It is used again: new memory takes longer than comparing what is in it.
    """

    pieces: list[_Piece]
    scratch: list[list[bytearray]]


class Row:
    """How the row of some arrays, each with its number, is taken apart."""

    def __init__(self, parts: Mapping[int, Part], length: int) -> None:
        self.parts = parts
        self.length = length
        self.apart: frozenset[int] = frozenset()
        self.layout = _Layout(self._pieces(self.apart), [])

    def split(self, buffers: Sequence[memoryview]) -> list[tuple[int, list[bytes]]]:
        """What each device has of each array, by its number; only what the first has where all have the same."""
        found: list[tuple[int, list[bytes]]] = []
        apart: set[int] = set()
        pieces, free = self.layout
        scratch = free.pop() if free else [bytearray(piece.stop - piece.start) for piece in pieces]
        for piece, first in zip(pieces, scratch):  # noqa: B905 - Python 3.9 has no strict
            differing = {*piece.numbers} if piece.differs else self._differing(piece, buffers, first)
            apart |= differing
            found += self._read(piece, buffers, differing)
        free.append(scratch)
        if not apart <= self.apart:
            self.apart |= apart
            self.layout = _Layout(self._pieces(self.apart), [])
        return found

    def _read(
        self, piece: _Piece, buffers: Sequence[memoryview], differing: set[int]
    ) -> Iterator[tuple[int, list[bytes]]]:
        for number in piece.numbers:
            start, stop = self.parts[number]
            if number not in differing:
                yield number, [buffers[0][start:stop].tobytes()]
                continue
            data = [buffer[start:stop].tobytes() for buffer in buffers]
            yield number, data[:1] if data.count(data[0]) == len(data) else data

    def _differing(self, piece: _Piece, buffers: Sequence[memoryview], first: bytearray) -> set[int]:
        """The numbers of the arrays of which some device has something else than the first one."""
        # Of all ways to compare bytes where they are, that of a bytearray is the fastest.
        memoryview(first)[:] = buffers[0][piece.start : piece.stop]
        others = [other for buffer in buffers[1:] if first != (other := buffer[piece.start : piece.stop])]
        if not others:
            return set()
        differs = _unequal(first, others, [self.parts[number].start - piece.start for number in piece.numbers])
        return {number for number, apart in zip(piece.numbers, differs) if apart}  # noqa: B905 - Python 3.9

    def _pieces(self, apart: frozenset[int]) -> list[_Piece]:
        pieces: list[_Piece] = []
        for number in sorted(self.parts, key=lambda number: self.parts[number].start):
            start, stop = self.parts[number]
            if pieces and number not in apart and not pieces[-1].differs:
                last = pieces.pop()
                pieces.append(last._replace(stop=stop, numbers=(*last.numbers, number)))
            else:
                pieces.append(_Piece(start, stop, (number,), number in apart))
        return pieces


def _unequal(first: bytearray, others: Sequence[memoryview], starts: Sequence[int]) -> Any:
    """For each part that begins at one of `starts` whether one of the others has something else there."""
    import numpy as np

    unequal = np.zeros(len(first), bool)
    for other in others:
        unequal |= np.frombuffer(other, np.uint8) != np.frombuffer(first, np.uint8)
    return np.logical_or.reduceat(unequal, starts)
