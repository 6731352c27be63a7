"""How a rewritten site holds its arrays, and why some of them stay stacked, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from jaxmigrate.migrate.plan import ArrayLayout
from jaxmigrate.program.trust import GRADES, Grade

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


def grade_of(site: Arrays) -> Grade:
    """The weakest evidence that some layout of a site rests on."""
    found = {array.grade for array in (*site.arguments, *site.outputs) if array.grade}
    return max(found, key=GRADES.index, default="proven")


def grades(site: Arrays) -> str:
    """The evidence for all layouts of a site: `proven`, or `proven: batch; likely: state, result 0`."""
    if grade_of(site) == "proven":
        return "proven"
    both = (("", site.arguments), ("result ", site.outputs))
    pairs = [(_name(array, kind), array.grade) for kind, arrays in both for array in arrays if array.grade]
    return grouped((name, grade) for one in GRADES for name, grade in pairs if grade == one)


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
    names = ((whole if array.name == "*" else array.name, array) for array in arrays)
    return grouped((f"{name}{_weak(array)}", array.layout) for name, array in names) or "nothing"


def _weak(array: ArrayLayout) -> str:
    """The grade of the evidence where it is not proof."""
    return f" ({array.grade})" if array.grade not in ("", "proven") else ""


def _name(array: ArrayLayout, kind: str) -> str:
    if array.name == "*":
        return kind.strip() or "all"
    return f"{kind}{array.name}"
