"""Makes a program that fails smaller, by taking out and lowering the choices that it was written from."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from tests.fuzz.grammar.choices import Choices
from tests.fuzz.running import Worker, generated, rewritten


def shrunk(choices: Choices, wrong: dict[str, str], worker: Worker, seconds: float) -> list[int]:
    """The choices of a smaller program with one of the same verdicts, as far as the time allows."""
    label, verdict = next(iter(wrong.items()))
    until = time.monotonic() + seconds
    texts: dict[tuple[str, ...], bool] = {}

    def fails(drawn: list[int]) -> bool:
        _, files = generated(given=drawn)
        known = texts.get(tuple(files.values()))
        if known is None:
            case = rewritten("shrinking", files, (label,) if label != "before" else ("auto",))
            known = worker.ask(case).get(label, ("", ""))[0] == verdict
            texts[tuple(files.values())] = known
        return known

    return smaller(choices.drawn, fails, lambda: time.monotonic() < until)


def smaller(drawn: list[int], fails: Callable[[list[int]], bool], goes_on: Callable[[], bool]) -> list[int]:
    """The shortest and lowest list that still fails."""
    best, changed = drawn, True
    while changed and goes_on():
        changed = False
        for candidate in candidates(best):
            if not goes_on():
                break
            if fails(candidate):
                again, _ = generated(given=candidate)
                best, changed = again.drawn, True
                break
    return best


def candidates(drawn: list[int]) -> Iterator[list[int]]:
    """Simpler lists: without a span, with a span of zeros, with one number lowered."""
    spans = sorted(set(generated(given=drawn)[0].spans), key=lambda span: span[0] - span[1])
    for start, end in spans:
        yield drawn[:start] + drawn[end:]
    for start, end in spans:
        if any(drawn[start:end]):
            yield drawn[:start] + [0] * (end - start) + drawn[end:]
    for place, number in enumerate(drawn):
        for lower in {0, number // 2, number - 1} - {number, -1}:
            yield [*drawn[:place], lower, *drawn[place + 1 :]]
