"""Makes a program that fails smaller, by taking out and lowering the choices that it was written from."""

from __future__ import annotations

import time
from collections.abc import Callable

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
    """The shortest and lowest list that still fails, passing over all parts again until nothing more goes."""
    best, before = drawn, None
    while before != best and goes_on():
        before = best
        for simpler in (without_spans, zero_spans, lower_numbers):
            place = 0
            while goes_on() and (candidates := simpler(best, place)) is not None:
                found = next((c for c in candidates if c != best and fails(c)), None)
                place += found is None
                best = best if found is None else generated(given=found)[0].drawn
    return best


Candidates = list[list[int]] | None


def without_spans(drawn: list[int], place: int) -> Candidates:
    """The list without one of its spans, the longest first; None behind the last."""
    spans = _spans(drawn)
    return None if place >= len(spans) else [drawn[: spans[place][0]] + drawn[spans[place][1] :]]


def zero_spans(drawn: list[int], place: int) -> Candidates:
    """The list with zeros for one of its spans."""
    spans = _spans(drawn)
    if place >= len(spans):
        return None
    start, end = spans[place]
    return [drawn[:start] + [0] * (end - start) + drawn[end:]]


def lower_numbers(drawn: list[int], place: int) -> Candidates:
    """The list with one number lowered."""
    if place >= len(drawn):
        return None
    lower = sorted({0, drawn[place] // 2, max(drawn[place] - 1, 0)} - {drawn[place]})
    return [[*drawn[:place], number, *drawn[place + 1 :]] for number in lower]


def _spans(drawn: list[int]) -> list[tuple[int, int]]:
    return sorted(set(generated(given=drawn)[0].spans), key=lambda span: (span[0] - span[1], span))
