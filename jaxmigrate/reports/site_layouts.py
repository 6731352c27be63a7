"""How a rewritten site holds its arrays, and why some of them stay stacked, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from jaxmigrate.migrate.plan import ArrayLayout

RESULT = "result"


class Arrays(Protocol):
    """A site with the layouts of its arguments and outputs."""

    @property
    def arguments(self) -> tuple[ArrayLayout, ...]:
        """Those that it takes."""
        ...

    @property
    def outputs(self) -> tuple[ArrayLayout, ...]:
        """Those that it gives."""
        ...


def is_global(site: Arrays) -> bool:
    """Whether a rewritten site takes or gives a global array."""
    return any(array.layout in ("replicated", "split") for array in (*site.arguments, *site.outputs))


def summary(site: Arrays) -> str:
    """`replicated: params; split: batch -> replicated: 0, 1`; `all stacked` where no array is global."""
    if is_global(site):
        return f"{_planned(site.arguments, 'all')} -> {_planned(site.outputs, RESULT)}"
    common = _common_reason(site)
    return f"all stacked: {common}" if common else "all stacked"


def _common_reason(site: Arrays) -> str:
    """The one reason for which a site has no global array, empty where there are several."""
    found = {array.reason for array in (*site.arguments, *site.outputs) if array.reason}
    return found.pop() if len(found) == 1 and not is_global(site) else ""


def reasons(site: Arrays) -> Iterator[str]:
    """Why arrays stay stacked, the same reason once, and those that `summary` does not tell of all of them.

    `key: holds one random key per device`
    """
    if _common_reason(site):
        return
    found: dict[str, list[str]] = {}
    for kind, arrays in (("", site.arguments), ("result ", site.outputs)):
        for array in arrays:
            if array.reason:
                found.setdefault(array.reason, []).append(_name(array, kind))
    for reason, names in found.items():
        yield f"{', '.join(names)}: {reason}"


def grouped(arrays: Iterable[tuple[str, str]]) -> str:
    """Names with their layouts, those of one layout together: `replicated: state; split: batch`."""
    groups: dict[str, list[str]] = {}
    for name, layout in arrays:
        groups.setdefault(layout, []).append(name)
    return "; ".join(f"{layout}: {', '.join(names)}" for layout, names in groups.items())


def _planned(arrays: Sequence[ArrayLayout], whole: str) -> str:
    return grouped((whole if array.name == "*" else array.name, array.layout) for array in arrays) or "nothing"


def _name(array: ArrayLayout, kind: str) -> str:
    if array.name == "*":
        return kind.strip() or "all"
    return f"{kind}{array.name}"
