"""Few combinations in which every two, or three, values that can meet do meet; and all of them, in a shuffled order."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence

from tests.migrate.forms.dimensions import DIMENSIONS, EXCLUDED, Excluded, excluded

Part = frozenset[tuple[str, str]]
AT_RUN_TIME = ("in_axes", "static", "donate", "call")


def covering(
    strength: int,
    seed: int,
    dimensions: Sequence[str] = tuple(DIMENSIONS),
    covered: Sequence[Mapping[str, str]] = (),
    rules: Sequence[Excluded] = EXCLUDED,
) -> list[dict[str, str]]:
    """Combinations that hold every possible meeting of `strength` values of `dimensions`, beyond those of `covered`."""
    chance = random.Random(seed)
    open_parts = dict.fromkeys(_meetings(strength, dimensions, rules))
    for combination in covered:
        _strike(open_parts, combination, strength, dimensions)
    found: list[dict[str, str]] = []
    while open_parts:
        part = next(iter(open_parts))
        best = max(
            (c for c in (completed(dict(part), chance, rules) for _ in range(8)) if c is not None),
            key=lambda c: sum(p in open_parts for p in _parts(c, strength, dimensions)),
            default=None,
        )
        if best is None:
            del open_parts[part]  # no program has these values together
            continue
        _strike(open_parts, best, strength, dimensions)
        found.append(best)
    return found


def _meetings(strength: int, dimensions: Sequence[str], rules: Sequence[Excluded]) -> list[Part]:
    found = []
    for chosen in itertools.combinations(dimensions, strength):
        for values in itertools.product(*(DIMENSIONS[d] for d in chosen)):
            part = dict(zip(chosen, values, strict=True))
            if excluded(part, rules) is None:
                found.append(frozenset(part.items()))
    return found


def _parts(combination: Mapping[str, str], strength: int, dimensions: Sequence[str]) -> Iterator[Part]:
    items = [(d, combination[d]) for d in dimensions]
    return (frozenset(chosen) for chosen in itertools.combinations(items, strength))


def _strike(parts: dict[Part, None], combination: Mapping[str, str], strength: int, dimensions: Sequence[str]) -> None:
    for part in _parts(combination, strength, dimensions):
        parts.pop(part, None)


def completed(
    part: dict[str, str], chance: random.Random | None = None, rules: Sequence[Excluded] = EXCLUDED
) -> dict[str, str] | None:
    """A combination with these values that can be run, found by chance and backtracking; None where there is none."""
    if excluded(part, rules) is not None:
        return None
    return _completed(part, chance or random.Random(0), tuple(rules))


def _completed(part: dict[str, str], chance: random.Random, rules: tuple[Excluded, ...]) -> dict[str, str] | None:
    """The same of a part that no rule excludes: one that excludes more of it names the value that is added."""
    missing = [d for d in DIMENSIONS if d not in part]
    if not missing:
        return {d: part[d] for d in DIMENSIONS}
    dimension = chance.choice(missing)
    for value in chance.sample(DIMENSIONS[dimension], len(DIMENSIONS[dimension])):
        more = {**part, dimension: value}
        if excluded(more, _naming(dimension, value, rules)) is None:
            whole = _completed(more, chance, rules)
            if whole is not None:
                return whole
    return None


@functools.cache
def _naming(dimension: str, value: str, rules: tuple[Excluded, ...]) -> list[Excluded]:
    return [rule for rule in rules if value in rule.where.get(dimension, ())]


def violating(rule: Excluded, seed: int) -> dict[str, str]:
    """A combination that one rule excludes and no other does."""
    chance = random.Random(seed)
    others = [e for e in EXCLUDED if e is not rule]
    while True:
        part = {d: chance.choice(sorted(values)) for d, values in rule.where.items()}
        whole = {d: part.get(d) or chance.choice(values) for d, values in DIMENSIONS.items()}
        if not any(e.holds(whole) for e in others):
            return whole


SIZE = math.prod(len(values) for values in DIMENSIONS.values())


def at(index: int) -> dict[str, str]:
    """The combination at an index of the whole product."""
    found = {}
    for dimension, values in DIMENSIONS.items():
        index, which = divmod(index, len(values))
        found[dimension] = values[which]
    return found


def index_of(combination: Mapping[str, str]) -> int:
    """The place of a combination in the whole product."""
    index = 0
    for dimension, values in reversed(DIMENSIONS.items()):
        index = index * len(values) + values.index(combination[dimension])
    return index


def shuffled(seed: int) -> Iterator[int]:
    """Every index of the product once, in an order that a seed gives: steps of a length that shares no factor."""
    chance = random.Random(seed)
    start, step = chance.randrange(SIZE), chance.randrange(SIZE) | 1
    while math.gcd(step, SIZE) != 1:
        step += 2
    return ((start + i * step) % SIZE for i in range(SIZE))
