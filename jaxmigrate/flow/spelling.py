"""What a misspelt name may have been meant for."""

from __future__ import annotations

from collections.abc import Collection


def near_miss(name: str, known: Collection[str]) -> str:
    """The known name that is closest to another, or an empty string where none is close."""
    import difflib  # only for a finding that is about to be told

    return next(iter(difflib.get_close_matches(name, sorted(known), 1, 0.6)), "")


def is_slip(one: str, other: str) -> bool:
    """Whether two words differ by one letter, by two that changed places, or in capitals; numbers at the end count."""
    if one != other and one.lower() == other.lower():
        return True
    if len(one) < 3 or len(other) < 4 or one.rstrip("0123456789") == other.rstrip("0123456789"):
        return False
    if len(one) == len(other):
        pairs = [(n, a, b) for n, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
        swapped = len(pairs) == 2 and pairs[1][0] == pairs[0][0] + 1 and pairs[0][1:] == pairs[1][:0:-1]
        return len(pairs) == 1 or swapped
    short, long = sorted((one, other), key=len)
    return len(long) == len(short) + 1 and any(long[:n] + long[n + 1 :] == short for n in range(len(long)))
