"""What is known of an array's dimensions, and what the operations of arrays make of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

Axes: TypeAlias = "frozenset[str] | None"  # over which mesh axes a dimension is split; None: not known
WHOLE: Axes = frozenset()


class Local(NamedTuple):
    """Over which axes an array is of this device's block alone, or was.

    Attributes:
        total: A sum along a dimension that they split.
        inner: Such a sum along another dimension than the first, which is often a batch.
        mean: A mean along a dimension that they split.
        ratio: Something that such a sum divides.
        added: Such a sum, which the devices have added up.
        whole: A statistic of features that they split, which the devices have put together.
        mixed: Made of such a statistic and of one of this device's features alone.
        peak: The largest along a dimension that they split.
        offset: Made of differences to such.
    """

    total: frozenset[str] = frozenset()
    inner: frozenset[str] = frozenset()
    mean: frozenset[str] = frozenset()
    ratio: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    mixed: frozenset[str] = frozenset()
    peak: frozenset[str] = frozenset()
    offset: frozenset[str] = frozenset()

    def lasting(self) -> Local:
        """What stays true whatever is done to each element."""
        if not (self.whole or self.mixed or self.offset):
            return NOWHERE
        return NOWHERE._replace(whole=self.whole, mixed=self.mixed, offset=self.offset)


NOWHERE = Local()


class Block(NamedTuple):
    """A device's block of an array.

    Attributes:
        dims: Each dimension's axes; of a block known by its spec alone, those that the spec speaks of.
        sure: Whether there are just so many dimensions; else there may be more, which no axis splits.
        partial: Over which axes it is one of the sums of a product that are still to be added up.
        own: Over which axes it is a statistic of this device's block alone, of features that they split.
        local: What else it is over some axes: see `Local`.
    """

    dims: tuple[Axes, ...]
    sure: bool
    partial: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()
    local: Local = NOWHERE

    @property
    def last(self) -> Axes:
        """What splits the last dimension."""
        if self.sure or len(self.dims) > 1:  # who writes a spec of several entries writes one for each dimension
            return self.dims[-1] if self.dims else None
        return WHOLE if all(axes == WHOLE for axes in self.dims) else None

    @property
    def rows(self) -> Axes:
        """What splits the dimension of a second factor over which a product of matrices sums."""
        if len(self.dims) > 1:
            return self.dims[-2]
        if self.sure:
            return self.dims[-1] if self.dims else None
        return WHOLE if all(axes == WHOLE for axes in self.dims) else None


def rank_of(block: Block | None) -> int | None:
    """How many dimensions an array has; None where that is not known."""
    return len(block.dims) if block is not None and block.sure else None


def unknown(rank: int) -> Block:
    """A block with so many dimensions, of which nothing else is known."""
    return Block((None,) * rank, True)


def noted(block: Block | None, origins: Sequence[Block]) -> Block | None:
    """A block that is made of others, with what these are parts of."""
    if block is None:
        return None
    partial, own = (
        frozenset[str]().union(*sets) for sets in zip(*((one.partial, one.own) for one in origins), strict=True)
    )
    return block._replace(partial=partial, own=own, local=together([one.local for one in origins]))


def together(several: Sequence[Local]) -> Local:
    """What is true of one of several."""
    known = [one for one in several if one != NOWHERE]
    return Local(*(frozenset[str]().union(*sets) for sets in zip(*known, strict=True))) if known else NOWHERE


def summed_up(block: Block | None, axes: frozenset[str] | None) -> Block | None:
    """What psum gives: sums of all devices, of those that each had of its block."""
    made = cleared(block, axes)
    if made is None or block is None or axes is None:
        return made
    return made._replace(local=made.local._replace(added=made.local.added | (block.local.total & axes)))


def of_sum(made: Block | None, split: frozenset[str], inner: frozenset[str], *, mean: bool) -> Block | None:
    """What a sum or a mean along dimensions that some axes split gives."""
    if made is None or not split:
        return made
    if mean:
        return made._replace(local=made.local._replace(mean=made.local.mean | split))
    return made._replace(local=made.local._replace(total=made.local.total | split, inner=made.local.inner | inner))


def bare(block: Block) -> Block:
    """The dimensions alone."""
    return Block(block.dims, block.sure)


def cleared(block: Block | None, axes: frozenset[str] | None) -> Block | None:
    """What devices have added up over some axes, or otherwise put together; None for any."""
    if block is None or axes is None:
        return None if block is None else bare(block)
    local = Local(*(one - axes for one in block.local))
    local = local._replace(whole=block.local.whole | (block.own & axes))
    return block._replace(partial=block.partial - axes, own=block.own - axes, local=local)


def broadcast(blocks: Sequence[Block]) -> Block | None:
    """What an operation on each element of several blocks gives."""
    return noted(_broadcast([bare(one) for one in blocks]), blocks) if blocks else None


def _broadcast(blocks: Sequence[Block]) -> Block | None:
    longest = max(blocks, key=lambda one: len(one.dims))
    spoken = all(one.sure or (len(one.dims) > 1 and len(one.dims) == len(longest.dims)) for one in blocks)
    if not spoken:
        same = all(one == longest or not one.dims for one in blocks)  # numbers, and what is whole: a bias
        return longest._replace(sure=longest.sure and all(one.sure for one in blocks)) if same else None
    dims: list[Axes] = []
    for back in range(len(longest.dims), 0, -1):
        found = {one.dims[-back] for one in blocks if len(one.dims) >= back}
        split = found - {WHOLE}  # what is whole may be one row for all
        dims.append(split.pop() if len(split) == 1 else WHOLE if not split else None)
    return Block(tuple(dims), all(one.sure for one in blocks))


def product(one: Block, other: Block) -> Block | None:
    """What a product of matrices gives: a partial sum where the dimension that is summed over is split."""
    made = noted(_product(one, other), (one, other))
    split = one.last if len(one.dims) > 1 and len(other.dims) in (1, 2) else None
    return made if made is None or not split else made._replace(partial=made.partial | split)


def _product(one: Block, other: Block) -> Block | None:
    sure = one.sure and other.sure
    if sure and (not one.dims or not other.dims):
        return None
    if len(other.dims) == 1:
        if other.sure:
            return Block(one.dims[:-1], sure) if one.sure or len(one.dims) > 1 else None
        return Block(one.dims[:-1], False) if len(one.dims) > 1 and other.dims[0] == one.last else None
    if len(other.dims) == 2 and one.dims:
        return Block((*one.dims[:-1], other.dims[-1]), sure) if one.sure or len(one.dims) > 1 else None
    return None


def reduced(block: Block, over: Sequence[int] | None, *, kept: bool) -> Block | None:
    """What a sum over some dimensions gives; over all of them where none are named."""
    count = len(block.dims)
    if over is None:
        return block._replace(dims=(WHOLE,) * count) if kept else block._replace(dims=(), sure=True)
    if not block.sure and count > 1:
        over = [one + count if one < 0 else one for one in over]  # a spec of several entries has one for each dimension
    if not all(-count <= one < count for one in over) or (not block.sure and any(one < 0 for one in over)):
        return None
    gone = {one % count for one in over}
    if kept:
        return block._replace(dims=tuple(WHOLE if n in gone else axes for n, axes in enumerate(block.dims)))
    return block._replace(dims=tuple(axes for n, axes in enumerate(block.dims) if n not in gone))
