"""What one run of the original shows of the arrays that go into its mapped functions and come out of them.

The recorder has one digest for an array whose slices are all equal. Whether others are parts of a batch shows in how
the host made them, which marks around its expressions have noted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from jaxmigrate.verify.layouts import Digests
from jaxmigrate.verify.recording import Call, Given, Leaf, Recording, Values

_STEP = re.compile(r"\[(?P<index>\d+)\]|\['(?P<key>[^']*)'\]|\.(?P<name>\w+)")
_DEEPEST = 3  # steps into what is returned that host code tells apart
Steps = tuple[int | str, ...]


class Slices(NamedTuple):
    """The slices of one array, or of all arrays below one place, at some calls.

    `equal`: all devices had the same; `rows`: each slice has rows of its own that could stand one after the other.
    """

    calls: int
    equal: bool
    rows: bool

    def and_of(self, other: Slices) -> Slices:
        """Those of the same place at other calls."""
        return Slices(self.calls + other.calls, self.equal and other.equal, self.rows and other.rows)


@dataclass
class Seen:
    """All that a run shows, by site.

    `does` says what marked expressions make, and `given` how arguments came about; an argument in `odd` was not
    looked at.
    """

    arguments: dict[tuple[str, int], Slices] = field(default_factory=dict)
    outputs: dict[tuple[str, Steps], Slices] = field(default_factory=dict)
    does: dict[str, str] = field(default_factory=dict)
    given: dict[tuple[str, int], frozenset[Given]] = field(default_factory=dict)
    odd: set[str] = field(default_factory=set)
    devices: int = 0
    calls: int = 0

    def add(self, other: Seen) -> None:
        """Take in another process, or another command: what holds for all of them is left."""
        _join(self.arguments, other.arguments)
        _join(self.outputs, other.outputs)
        for mark, does in other.does.items():
            self.does[mark] = does if self.does.get(mark, does) == does else ""
        for key, given in other.given.items():
            self.given[key] = self.given.get(key, frozenset()) | given
        self.odd |= other.odd
        self.devices = min(self.devices, other.devices) if self.devices else other.devices
        self.calls += other.calls


def _join(into: dict[tuple[str, int], Slices] | dict[tuple[str, Steps], Slices], new: Mapping) -> None:  # type: ignore[type-arg]
    for key, slices in new.items():
        into[key] = into[key].and_of(slices) if key in into else slices


def seen_in(recording: Recording) -> Seen:
    """What the processes of a run show together."""
    found = Seen()
    for log in recording.ordered():
        one = Seen(does=dict(log.does), devices=log.jax.get("local_devices", 0))
        one.given = {key: frozenset(given) for key, given in log.given.items() if key[1] >= 0}
        one.odd = {site for site, argument in log.given if argument < 0}
        for call in log.calls:
            if not call.traced:
                _add_call(one, call)
        if log.calls:
            found.add(one)
    return found


def _add_call(seen: Seen, call: Call) -> None:
    """Take in what one call was given and gave; of one that raised, what it was given."""
    for values, into in ((call.inputs, "in"), (call.outputs, "out")):
        if values is None:
            continue
        digests = values.leaves
        if digests is None:
            continue  # the log had no room for them: what is said of the calls is said of the others
        if into == "in":
            seen.calls += 1
            _join(seen.arguments, {(call.site, i): s for i, s in _by_argument(values, digests, seen.devices).items()})
        else:
            _join(seen.outputs, {(call.site, p): s for p, s in _by_place(values, digests, seen.devices).items()})


def _by_argument(values: Values, digests: Iterable[Digests], devices: int) -> dict[int, Slices]:
    found: dict[int, Slices] = {}
    for leaf, one in zip(values.signature.leaves, digests, strict=True):
        steps = [*steps_of(leaf.path)]
        if len(steps) >= 2 and steps[0] == 0 and isinstance(steps[1], int):
            _add_leaf(found, steps[1], leaf, one, devices)
    return found


def _by_place(values: Values, digests: Iterable[Digests], devices: int) -> dict[Steps, Slices]:
    """By each place in what is returned, that of all of it included."""
    found: dict[Steps, Slices] = {}
    for leaf, one in zip(values.signature.leaves, digests, strict=True):
        steps = tuple(steps_of(leaf.path))
        for depth in range(min(len(steps), _DEEPEST) + 1):
            _add_leaf(found, steps[:depth], leaf, one, devices)
    return found


def _add_leaf(into: dict, key: object, leaf: Leaf, digests: Digests, devices: int) -> None:  # type: ignore[type-arg]
    if leaf.kind == "none":
        return
    is_cut = leaf.kind in ("array", "local shards") and bool(leaf.shape) and leaf.shape[0] == devices > 1
    is_key = leaf.dtype.startswith("key<") or (leaf.dtype == "uint32" and leaf.shape[1:] in ((2,), (4,)))
    equal = is_cut and digests.parts.startswith("=")
    slices = Slices(1, equal, is_cut and len(leaf.shape) > 1 and not is_key)
    before = into.get(key)
    into[key] = slices if before is None else before.and_of(slices)._replace(calls=1)


def steps_of(path: str) -> Iterator[int | str]:
    """The steps of a key path `[0].params['w']`: positions, names of fields, keys."""
    for step in _STEP.finditer(path):
        yield int(step["index"]) if step["index"] is not None else step["key"] or step["name"]
