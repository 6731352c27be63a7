"""Pairs the leaves of calls whose trees are not of one form, as where a state has become two arguments.

What stands for what is told by what the leaves hold in the first calls, by their names, and by the arguments that they
take the place of. Every result is paired with something as long as there is something: one that is wrong holds what no
other leaf does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from jaxmigrate.verify.align import Alignment, LeafPair, name_steps, named_path, pair_of, plain_path
from jaxmigrate.verify.layouts import Digests, agrees
from jaxmigrate.verify.recording import Leaf, Values

CALLS_LOOKED_AT = 4
# Of more pairs than this, those by name have to do.
_MOST_PAIRS = 1 << 16


class Sides(NamedTuple):
    """The arguments, or the results, of the same calls on both sides, with the names of the parameters."""

    where: str
    calls: Sequence[tuple[Values, Values]]
    parameters: tuple[Sequence[str], Sequence[str]] = ((), ())

    def names(self, side: int) -> list[str]:
        """The paths of the leaves of one side as people write them."""
        parameters = self.parameters[side]
        leaves = self.calls[0][side].signature.leaves
        return [named_path(self.where, plain_path(self.where, leaf.path, parameters), parameters) for leaf in leaves]


# How much speaks for two leaves being the same, what weighs most first.
_Score = tuple[int, ...]


def paired(sides: Sides, replaced: Mapping[int, int] | None = None) -> Alignment:
    """The leaves of both sides that stand for the same.

    `replaced` says of results of the original which ones of the other side replace the same argument.
    """
    ours, theirs = (sides.calls[0][side].signature.leaves for side in (0, 1))
    names, others = sides.names(0), sides.names(1)
    scored: list[tuple[_Score, int, int]] = []
    if len(ours) * len(theirs) <= _MOST_PAIRS:
        same, telling = _contents(sides, ours, theirs)
        for one, leaf in enumerate(ours):
            for other, counterpart in enumerate(theirs):
                if pair_of(one, other, leaf, counterpart, lenient=True).problem:
                    continue
                score: _Score = (
                    _is_one_name(names[one], others[other]),
                    telling[one, other],
                    int((replaced or {}).get(one) == other),
                    int(name_steps(names[one]) == name_steps(others[other])),
                    same[one, other],
                    *_likeness(names[one], others[other]),
                )
                scored.append(((*score, -abs(one * len(theirs) - other * len(ours))), one, other))
    scored.sort(key=lambda found: (found[0], -found[1], -found[2]), reverse=True)
    found: dict[int, LeafPair] = {}
    taken: set[int] = set()
    for score, one, other in scored:
        if one in found or other in taken or not (sides.where == "output" or any(score[:5])):
            continue
        found[one] = pair_of(one, other, ours[one], theirs[other], lenient=True)
        taken.add(other)
    return Alignment(
        tuple(found[one] for one in sorted(found)),
        None,
        tuple(name for one, name in enumerate(names) if one not in found),
        tuple(name for other, name in enumerate(others) if other not in taken),
    )


def _is_one_name(name: str, other: str) -> int:
    """Whether both are one name that no position is part of."""
    steps = name_steps(name)
    return int(bool(steps) and steps == name_steps(other) and not any(step.isdigit() for step in steps))


def _likeness(name: str, other: str) -> tuple[int, int]:
    """How many of the last steps of two names are the same, and how many of all."""
    steps, others = name_steps(name), name_steps(other)
    end = 0
    for one, two in zip(reversed(steps), reversed(others), strict=False):
        if one != two:
            break
        end += 1
    return end, (Counter(steps) & Counter(others)).total()


def _contents(
    sides: Sides, ours: Sequence[Leaf], theirs: Sequence[Leaf]
) -> tuple[Counter[tuple[int, int]], Counter[tuple[int, int]]]:
    """In how many calls two leaves hold the same, and in how many nothing else holds that."""
    same: Counter[tuple[int, int]] = Counter()
    telling: Counter[tuple[int, int]] = Counter()
    for values, others in sides.calls:
        digests, counterparts = values.leaves, others.leaves
        if digests is None or counterparts is None:
            continue
        alike = [*_alike(ours, theirs, digests, counterparts)]
        same.update(alike)
        often = Counter(one for one, _ in alike), Counter(other for _, other in alike)
        telling.update((one, other) for one, other in alike if often[0][one] == often[1][other] == 1)
    return same, telling


def _alike(
    ours: Sequence[Leaf], theirs: Sequence[Leaf], digests: Sequence[Digests], counterparts: Sequence[Digests]
) -> Iterator[tuple[int, int]]:
    for one, leaf in enumerate(ours):
        for other, counterpart in enumerate(theirs):
            pair = pair_of(one, other, leaf, counterpart, lenient=True)
            if pair.layout is not None and not pair.problem and agrees(pair.layout, digests[one], counterparts[other]):
                yield one, other
