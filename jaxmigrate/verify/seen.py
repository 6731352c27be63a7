"""Names the layout in which each argument and result of a site was held in the runs, whatever the plan said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from jaxmigrate.verify.align import NUMBERS, named_path, plain_path
from jaxmigrate.verify.comparison import SiteComparison
from jaxmigrate.verify.layouts import Layout
from jaxmigrate.verify.model import SeenLayout, SiteInfo
from jaxmigrate.verify.recording import Leaf, Signature

_STEP = re.compile(r"\[[^\]]*\]|\.\w+")
EITHER = "replicated or split"  # on one device both have the same shape


class _Seen(NamedTuple):
    """One leaf: its path for people, the steps of that path, its place among the arguments, and its layout."""

    path: str
    steps: tuple[str, ...]
    position: str
    layout: str


def seen_layouts(site: SiteComparison, where: str, devices: int) -> tuple[SeenLayout, ...]:
    """The layouts of the arguments (`input`) or results (`output`), as few names as say it all."""
    layouts: dict[str, dict[str, None]] = {}
    positions: dict[str, str] = {}
    for original, rewritten in site.signatures[where]:
        for path, position, layout in _leaves(where, original, rewritten, site, devices):
            layouts.setdefault(path, {})[layout] = None
            positions[path] = position
    leaves = [_Seen(path, _steps(path), positions[path], " or ".join(found)) for path, found in layouts.items()]
    return tuple(_grouped(leaves, 1 if where == "input" else 0))


def _leaves(
    where: str,
    original: Signature,
    rewritten: Signature,
    site: SiteComparison,
    devices: int,
) -> Iterator[tuple[str, str, str]]:
    pairs = [
        (original.leaves[pair.ours], rewritten.leaves[pair.theirs], pair.layout)
        for pair in site.align(where, original, rewritten).pairs
    ]
    pairs = [pair for pair in pairs if pair[0].kind in (*NUMBERS, "scalar")]
    mapped = _mapped_size(pairs, devices)
    names = max(site.parameters, key=len)
    for leaf, _, layout in pairs:
        plain = plain_path(where, leaf.path, site.parameters[0])
        position = _STEP.findall(plain)[1:2] if where == "input" else []
        yield named_path(where, plain, names), "".join(position).strip("[]"), _word(leaf, layout, mapped)


def _mapped_size(pairs: Iterable[tuple[Leaf, Leaf, Layout | None]], devices: int) -> int:
    """The length of the mapped axis: that of what has changed its layout, else the number of devices."""
    changed = (leaf.shape[0] for leaf, _, layout in pairs if layout in (Layout.REPLICATED, Layout.SPLIT))
    return next(changed, devices)


def _word(leaf: Leaf, layout: Layout | None, mapped: int) -> str:
    if layout is None:
        return "unknown"
    if layout is not Layout.SAME:
        return EITHER if mapped == 1 and layout in (Layout.REPLICATED, Layout.SPLIT) else layout.value
    if not leaf.shape:
        return "broadcast"
    return "stacked" if leaf.shape[0] == mapped else "unchanged"


def _steps(path: str) -> tuple[str, ...]:
    first = _STEP.search(path)
    name = path[: first.start()] if first is not None else path
    return (*([name] if name else []), *_STEP.findall(path[len(name) :]))


def _grouped(leaves: Sequence[_Seen], depth: int) -> Iterator[SeenLayout]:
    """One entry for all leaves below a step of the path where they agree, else one for each step below it."""
    groups: dict[tuple[str, ...], list[_Seen]] = {}
    for leaf in leaves:
        groups.setdefault(leaf.steps[: max(depth, 1)] if depth else (), []).append(leaf)
    for steps, group in groups.items():
        if len({leaf.layout for leaf in group}) == 1:
            yield SeenLayout("".join(steps), group[0].layout, len(group), group[0].position)
        elif all(len(leaf.steps) <= depth for leaf in group):
            yield from (SeenLayout(leaf.path, leaf.layout, 1, leaf.position) for leaf in group)
        else:
            yield from _grouped(group, depth + 1)


def against_plan(site: SiteInfo, arguments: Sequence[SeenLayout], results: Sequence[SeenLayout]) -> Iterator[str]:
    """What was planned to lose its leading axis and has kept it in the runs, a sentence each."""
    for what, planned, seen in (("argument", site.arguments, arguments), ("result", site.outputs, results)):
        for name, layout in planned:
            fields = {other[len(name) :] for other, _ in planned if other.startswith(f"{name}.")}
            found = [one for one in seen if _is_called(one, name) and fields.isdisjoint(_steps(one.name))]
            kept = sorted({one.layout for one in found} - {layout, "broadcast", EITHER})
            if layout in (Layout.REPLICATED, Layout.SPLIT) and kept:
                yield f"{site}: {what} {name} is planned to be {layout}, but was {' and '.join(kept)} in the run"


def _is_called(seen: SeenLayout, name: str) -> bool:
    if name == seen.position or seen.name == name:
        return True
    return bool(name) and seen.name.startswith(name) and seen.name[len(name)] in ".["
