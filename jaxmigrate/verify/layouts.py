"""Tells in which layout a rewrite hands over the stacked array that the original hands over, and whether it is it.

With n devices, a stacked array of shape (n, b, ...) stays as it is, becomes one replicated array of shape (b, ...),
or one array of shape (n*b, ...) that is split over the devices. The three have different shapes, so the shapes of
both sides say which one it is, whatever the rewrite says about itself. Migrations made by hand also split another axis,
which makes (b, n*c) of (n, b, c), and what every device has gathered loses its axis of devices: (n*b, ...) of
(n, n, b, ...). And they merge more axes than two, (n*b*c,) of (n, b, c), or split the first of those that were merged.
On a mesh of several axes an array may be split along some of them only: (k, b, ...) or (k*b, ...), where k divides n.
"""

from __future__ import annotations

from enum import StrEnum
from math import prod
from typing import NamedTuple

# Characters of a digest by which the recorder tells slices apart.
SHORT = 6


class Layout(StrEnum):
    """How the rewritten side holds what the original holds."""

    SAME = "same"
    REPLICATED = "replicated"
    SPLIT = "split"
    MOVED = "split along another axis"
    GATHERED = "split, where the original has all blocks on every device"
    MERGED = "split, with axes of each block merged"
    PADDED = "split, with another batch size"
    PARTLY = "split along some axes of the mesh, with copies along the others"


class Digests(NamedTuple):
    """What the recorder knows of the bytes of one leaf; `child.content.Content` says how it is taken."""

    whole: str
    flat: str = ""
    parts: str = ""
    replicas: str = ""
    stacked: str = ""

    @classmethod
    def parse(cls, text: str) -> Digests:
        """The digests of one line of a log."""
        return cls(*text.split("\t"))

    @property
    def names(self) -> frozenset[str]:
        """All digests that name the bytes of the array, each in its way of cutting them."""
        return frozenset(filter(None, (self.whole, self.flat)))


Shape = tuple[int, ...]


def layout_of(original: Shape, rewritten: Shape, *, merged: bool = False) -> Layout | None:
    """The layout of the rewritten array; None if it cannot hold what the original one does.

    Only where axes may be `merged` is another array of as many numbers one that holds the same.
    """
    if original == rewritten:
        return Layout.SAME
    if original and rewritten == original[1:]:
        return Layout.REPLICATED
    if len(original) > 1 and rewritten == (original[0] * original[1], *original[2:]):
        return Layout.SPLIT
    if len(original) > 2 and original[0] == original[1] and rewritten == _merged_first(original[1:]):
        return Layout.GATHERED
    if original and rewritten in _moved(original):
        return Layout.MOVED
    if merged and original and _regroups(original[1:], rewritten, original[0]):
        return Layout.MERGED
    return Layout.PARTLY if merged and _is_partly_split(original, rewritten) else None


def rows_of(original: Shape) -> int | None:
    """How many rows a stacked array has on all devices together; None if its slices have none."""
    return original[0] * original[1] if len(original) > 1 else None


def rows_of_rewritten(original: Shape, rewritten: Shape) -> int | None:
    """How many such rows the rewritten array has, stacked or in one; None if it has other ones."""
    if len(original) > 1 and rewritten[1:] == original[2:] and rewritten:
        return rewritten[0]
    stacked = len(original) == len(rewritten) > 1 and (rewritten[0], rewritten[2:]) == (original[0], original[2:])
    return rewritten[0] * rewritten[1] if stacked else None


def _regroups(inner: Shape, rewritten: Shape, devices: int) -> bool:
    """Whether an array holds the slices of this shape one after the other, in the order of their numbers.

    Only neighbouring axes are merged, or only the ones that were: everything else is another array of as many numbers.
    """
    if not rewritten or rewritten[0] % devices or prod(rewritten) != devices * prod(inner):
        return False
    return _merges(inner, block := (rewritten[0] // devices, *rewritten[1:])) or _merges(block, inner)


def _is_partly_split(original: Shape, rewritten: Shape) -> bool:
    """Whether an array has the slices of some of the devices, each with its own axis or as rows of one."""
    if len(original) < 2 or not rewritten:
        return False
    slices = rewritten[0] if rewritten[1:] == original[1:] else 0
    if rewritten[1:] == original[2:] and rewritten[0] % max(original[1], 1) == 0:
        slices = rewritten[0] // max(original[1], 1)
    return 1 < slices < original[0] and original[0] % slices == 0


def _merges(fine: Shape, coarse: Shape) -> bool:
    """Whether some neighbouring axes of the one shape make each axis of the other."""
    left = [length for length in fine if length != 1]
    for length in coarse:
        size = 1
        while size < length and left:
            size *= left.pop(0)
        if size != length:
            return False
    return not left


def _merged_first(shape: Shape) -> Shape:
    """The shape in which the first two axes are one."""
    return (shape[0] * shape[1], *shape[2:]) if len(shape) > 1 else ()


def _moved(shape: Shape) -> set[Shape]:
    """The shapes in which the first axis is part of another one that does not follow it."""
    first, inner = shape[0], shape[1:]
    return {(*inner[:at], first * inner[at], *inner[at + 1 :]) for at in range(1, len(inner))}


def agrees(layout: Layout, original: Digests, rewritten: Digests) -> bool:
    """Whether the rewritten leaf holds the bytes of the original one in this layout."""
    if rewritten.replicas and rewritten.replicas != original.replicas:
        return False
    if layout is Layout.MOVED and (original.stacked or rewritten.stacked):
        return bool((original.names | {original.stacked}) & {rewritten.stacked or rewritten.whole})
    if layout is Layout.PARTLY:
        return rewritten.stacked in original.names
    if layout is Layout.GATHERED and not is_split(rewritten):
        return False
    if layout not in (Layout.REPLICATED, Layout.GATHERED):
        return bool(original.names & rewritten.names)
    return original.parts[:1] == "=" and original.parts[1:] in rewritten.names


def is_known(layout: Layout, rewritten: Digests) -> bool:
    """Whether the devices hold what an array of this layout is made of, as far as the digests tell."""
    return bool(rewritten.stacked) if layout is Layout.PARTLY else layout is not Layout.GATHERED or is_split(rewritten)


def is_split(rewritten: Digests) -> bool:
    """Whether the devices have parts of an array, and not copies, as far as its digests tell."""
    return bool(rewritten.parts)


def explain(layout: Layout, original: Digests, rewritten: Digests) -> str:
    """Which slices of two arrays that do not agree are at fault, empty where the log does not tell."""
    if rewritten.replicas and rewritten.replicas != original.replicas:
        devices = _listed("device", rewritten.replicas.split(","))
        return f"declared replicated, but the copies on {devices} differ from the first one"
    if layout is Layout.REPLICATED:
        return _against_replicated(original.parts, rewritten)
    if layout in (Layout.MOVED, Layout.GATHERED, Layout.PARTLY):
        return ""
    ours, theirs = _pieces(original.parts), _pieces(rewritten.parts)
    if not ours or not theirs or (len(ours) != len(theirs) and 1 not in (len(ours), len(theirs))):
        return ""
    count = max(len(ours), len(theirs))
    ours, theirs = (pieces * count if len(pieces) == 1 else pieces for pieces in (ours, theirs))
    wrong = [str(number) for number in range(count) if ours[number] != theirs[number]]
    if len(wrong) in (0, count):
        return ""
    what = "block" if layout is Layout.SPLIT else "slice"
    return f"{_listed(what, wrong)} of {count} differ" if len(wrong) > 1 else f"{what} {wrong[0]} of {count} differs"


def _against_replicated(parts: str, rewritten: Digests) -> str:
    shorts = {name[:SHORT] for name in rewritten.names}
    pieces = _pieces(parts)
    if len(pieces) < 2:
        return ""
    wrong = [str(number) for number, piece in enumerate(pieces) if piece not in shorts]
    verb = "differs" if len(wrong) == 1 else "differ"
    return f"{_listed('slice', wrong)} of the original {verb} from the replicated array"


def _pieces(parts: str) -> list[str]:
    """The beginnings of the digests of all slices; just one if all are equal."""
    if parts[:1] == "=":
        return [parts[1 : 1 + SHORT]]
    return [parts[start : start + SHORT] for start in range(0, len(parts), SHORT)]


def _listed(what: str, numbers: list[str]) -> str:
    if len(numbers) == 1:
        return f"{what} {numbers[0]}"
    return f"{what}s {', '.join(numbers[:-1])} and {numbers[-1]}"
