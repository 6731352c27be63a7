"""How two runs differ: what is found of each call, and of all calls of one site."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from jaxmigrate.verify.align import Alignment, align
from jaxmigrate.verify.layouts import Layout
from jaxmigrate.verify.recording import Call, Signature, StreamKey

# The kinds of difference whose size takes the arrays themselves.
MEASURED = ("value", "dtype", "replicas", "rows")
# The kind of a result that has more rows on one side.
ROWS = "rows"


class CallKey(NamedTuple):
    """Names one call of a run such that the same call of another run has the same name."""

    stream: StreamKey
    site: str
    number: int


@dataclass(frozen=True)
class Delta:
    """One way in which a call differs.

    `leaf` is the position among the original's leaves and `other` that among the rewritten ones, None if all or none
    are meant. `detail` says which slices differ.
    """

    where: str
    kind: str
    leaf: int | None = None
    path: str = ""
    original: str = ""
    rewritten: str = ""
    other: int | None = None
    layout: Layout | None = None
    detail: str = ""


@dataclass(frozen=True)
class CallPair:
    """The same call in both runs, and how it differs.

    `unrecorded` says that the layouts differ and that the log holds no digests of leaves, so that nothing is known.
    `inputs_equal` says whether both sides were given the same, None where not all arguments were compared.
    """

    key: CallKey
    original: Call
    rewritten: Call
    deltas: tuple[Delta, ...]
    weak_types: int = 0
    unrecorded: bool = False
    inputs_equal: bool | None = None


@dataclass(frozen=True)
class Divergence:
    """The first point at which two runs do not make the same calls; `kind` is order or count.

    It is `dropped` if the rewritten run does without the call, and makes those around it.
    """

    kind: str
    site: str
    number: int
    position: int
    original: str
    rewritten: str
    dropped: bool = False


@dataclass
class SiteComparison:
    """What two runs did at one site.

    `parameters` are the names of the mapped functions' parameters. A lenient comparison does not mind arguments that
    are held or given in another way, so long as the results are the same. `dropped` are the original's calls that the
    rewritten run does without, each with its stream.
    """

    pairs: list[CallPair] = field(default_factory=list)
    divergences: list[Divergence] = field(default_factory=list)
    calls_original: int = 0
    calls_rewritten: int = 0
    parameters: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    lenient: bool = False
    pairings: dict[tuple[str, Signature, Signature], Alignment] = field(default_factory=dict)
    dropped: list[tuple[StreamKey, Call]] = field(default_factory=list)

    def align(self, where: str, original: Signature, rewritten: Signature) -> Alignment:
        """The leaves of two calls side by side."""
        found = self.pairings.get((where, original, rewritten))
        return found if found is not None else align(where, original, rewritten, *self.parameters, self.lenient)

    @property
    def on_one_side(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The results that only the original has, and those that only the rewritten side has, by path."""
        ours, theirs = dict[str, None](), dict[str, None]()
        for original, rewritten in self.signatures["output"]:
            found = self.align("output", original, rewritten)
            ours |= dict.fromkeys(found.only_ours)
            theirs |= dict.fromkeys(found.only_theirs)
        return tuple(ours), tuple(theirs)

    @property
    def signatures(self) -> dict[str, list[tuple[Signature, Signature]]]:
        """The different kinds of arguments and of results that the calls had, on both sides."""
        found: dict[str, dict[tuple[Signature, Signature], None]] = {"input": {}, "output": {}}
        for pair in self.pairs:
            both = {
                "input": (pair.original.inputs, pair.rewritten.inputs),
                "output": (pair.original.outputs, pair.rewritten.outputs),
            }
            for where, (ours, theirs) in both.items():
                if ours is not None and theirs is not None:
                    found[where][ours.signature, theirs.signature] = None
        return {where: [*pairs] for where, pairs in found.items()}

    @property
    def differing(self) -> list[CallPair]:
        """The calls that are not bitwise equal."""
        return [pair for pair in self.pairs if pair.deltas]

    @property
    def first_difference(self) -> int | None:
        """The number of the first call that is not the same in both runs."""
        numbers = [pair.key.number for pair in self.pairs if pair.deltas]
        return min([*numbers, *(divergence.number for divergence in self.divergences)], default=None)


def first_other_result(comparisons: Iterable[SiteComparison]) -> float:
    """When the first call was made that gives another result, by its order in the original; infinite if none does."""
    pairs = [pair for comparison in comparisons for pair in comparison.pairs]
    other = [pair for pair in pairs if pair.unrecorded or any(delta.where != "input" for delta in pair.deltas)]
    return min((pair.original.order for pair in other), default=math.inf)
