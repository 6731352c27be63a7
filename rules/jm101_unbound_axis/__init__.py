"""JM101: a collective names an axis that nothing around it binds."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import AxisUse, Step, shown
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.guards import is_expected_to_fail, is_guarded
from jaxmigrate.flow.near import near_miss

CODE = "JM101"


def check(facts: Facts) -> Iterator[Finding]:
    """Collectives that are certain to run where their axis is not bound."""
    reported: set[tuple[ast.AST, str]] = set()
    for use in facts.axis_uses:
        if is_unbound(use, facts) and (use.call, use.axis) not in reported:
            reported.add((use.call, use.axis))
            yield from _at_collective(use, facts)


def is_unbound(use: AxisUse, facts: Facts) -> bool:
    """Whether the axis is certainly missing; a guard that may keep the collective from running speaks against it."""
    environment = use.environment
    if not environment.complete or use.axis in environment.axes or is_expected_to_fail(use):
        return False
    if near_miss(use.axis, environment.axes):
        return True
    if environment.by_key and _is_named_elsewhere(use, facts):
        return False
    return not is_guarded(use, facts.resolver)


def _is_named_elsewhere(use: AxisUse, facts: Facts) -> bool:
    """Whether another place names the axis, too: then some map may bind it for which the function is meant."""
    texts = (module.text for module in {*facts.modules, use.module})
    return sum(text.count(f"'{use.axis}'") + text.count(f'"{use.axis}"') for text in texts) > 1


def unbound(axis: str, axes: Collection[str], who: str) -> str:
    """The sentence that says so, with what the name may have been meant for."""
    near = near_miss(axis, axes)
    hint = f"; did you mean {near!r}?" if near else f" ({who} {shown(frozenset(axes))})"
    return f"axis {axis!r} is not bound here{hint}"


def _at_collective(use: AxisUse, facts: Facts) -> Iterator[Finding]:
    message = f"{use.name.rpartition('.')[2]}: " + unbound(use.axis, use.environment.axes, "what is bound is")
    yield from facts.finding(use.module, use.call, CODE, message + _chain(use.way), use.way)


def _chain(way: Sequence[Step]) -> str:
    """The calls from the innermost map to the collective; their places are in the notes."""
    maps = [number for number, step in enumerate(way) if " maps it over " in step.what]
    names = [step.what.removeprefix("calls ") for step in way[maps[-1] + 1 :]] if maps else []
    return f" (reached through {' -> '.join(names)})" if names else ""
