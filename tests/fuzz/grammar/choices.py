"""Every decision of the program generator, in order: what shrinks is this list of numbers, not the text they make."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

Option = TypeVar("Option")


class Choices:
    """Numbers drawn at random, or given and then zero, which always means the simplest there is.

    Attributes:
        drawn: The numbers so far.
        spans: Stretches of `drawn` that belong to one part of the program, and can be taken out together.
    """

    def __init__(self, seed: str = "", given: Sequence[int] | None = None) -> None:
        self._random = random.Random(seed) if given is None else None
        self._given = given or ()
        self.drawn: list[int] = []
        self.spans: list[tuple[int, int]] = []

    def reseed(self, seed: str) -> None:
        """Goes on with other random numbers, so that programs can begin alike and end differently."""
        if self._random is not None and seed:
            self._random = random.Random(seed)

    def below(self, bound: int, weights: Sequence[int] | None = None) -> int:
        """A number from 0 to below a bound."""
        if self._random is not None:
            number = self._random.choices(range(bound), weights)[0]
        else:
            place = len(self.drawn)
            number = self._given[place] % bound if place < len(self._given) else 0
        self.drawn.append(number)
        return number

    def pick(self, options: Sequence[Option], weights: Sequence[int] | None = None) -> Option:
        """One of several, the simplest of which stands first."""
        return options[self.below(len(options), weights)]

    def chance(self, percent: int) -> bool:
        """True as often as told; False is simpler."""
        return bool(self.below(2, (100 - percent, percent)))

    @contextmanager
    def span(self) -> Iterator[None]:
        """Marks what is drawn within as one part."""
        start = len(self.drawn)
        yield
        if len(self.drawn) > start:
            self.spans.append((start, len(self.drawn)))

    def times(self, percent: int, at_most: int) -> Iterator[None]:
        """Goes on as long as a chance holds, each round a span that can be taken out without moving the others."""
        for _ in range(at_most):
            with self.span():
                if not self.chance(percent):
                    return
                yield
