"""What a misspelt name may have been meant for."""

from __future__ import annotations

from collections.abc import Collection


def near_miss(name: str, known: Collection[str]) -> str:
    """The known name that is closest to another, or an empty string where none is close."""
    import difflib  # only for a finding that is about to be told

    return next(iter(difflib.get_close_matches(name, sorted(known), 1, 0.6)), "")
