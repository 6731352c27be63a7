"""Compares two recordings call by call and leaf by leaf, by digest: what is equal here is bitwise equal.

How large a difference is takes the arrays themselves, which `measure` reads; this module says where there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

from jaxmigrate.verify.recording import Call, Leaf, Recording, StreamKey, Values, streams

_NUMBERS = ("array", "local shards")


class CallKey(NamedTuple):
    """Names one call of a run such that the same call of another run has the same name."""

    stream: StreamKey
    site: str
    number: int


@dataclass(frozen=True)
class Delta:
    """One way in which a call differs; `leaf` is the position among the leaves, None if all or none are meant."""

    where: str
    kind: str
    leaf: int | None = None
    path: str = ""
    original: str = ""
    rewritten: str = ""


@dataclass(frozen=True)
class CallPair:
    """The same call in both runs, and how it differs."""

    key: CallKey
    original: Call
    rewritten: Call
    deltas: tuple[Delta, ...]
    weak_types: int = 0

    @property
    def inputs_equal(self) -> bool | None:
        """Whether both sides were given the same, None where one of them recorded no arguments."""
        if self.original.inputs is None or self.rewritten.inputs is None:
            return None
        return not any(delta.where == "input" for delta in self.deltas)


@dataclass(frozen=True)
class Divergence:
    """The first point at which two runs do not make the same calls; `kind` is order or count."""

    kind: str
    site: str
    number: int
    position: int
    original: str
    rewritten: str


@dataclass
class SiteComparison:
    """What two runs did at one site."""

    pairs: list[CallPair] = field(default_factory=list)
    divergences: list[Divergence] = field(default_factory=list)
    calls_original: int = 0
    calls_rewritten: int = 0

    @property
    def differing(self) -> list[CallPair]:
        """The calls that are not bitwise equal."""
        return [pair for pair in self.pairs if pair.deltas]

    @property
    def first_difference(self) -> int | None:
        """The number of the first call that is not the same in both runs."""
        numbers = [pair.key.number for pair in self.pairs if pair.deltas]
        return min([*numbers, *(divergence.number for divergence in self.divergences)], default=None)


def compare(original: Recording, rewritten: Recording) -> dict[str, SiteComparison]:
    """Compare two runs, by site; sites that neither run reached are not in the result."""
    ours, theirs = streams(original), streams(rewritten)
    found: dict[str, SiteComparison] = {}
    for key in sorted({*ours, *theirs}, key=lambda key: (key.process, key.thread)):
        _compare_stream(key, ours.get(key, []), theirs.get(key, []), found)
    return found


def _compare_stream(key: StreamKey, ours: list[Call], theirs: list[Call], found: dict[str, SiteComparison]) -> None:
    by_site, by_site_rewritten = _by_site(ours), _by_site(theirs)
    for site in {**by_site, **by_site_rewritten}:
        comparison = found.setdefault(site, SiteComparison())
        calls, calls_rewritten = by_site.get(site, []), by_site_rewritten.get(site, [])
        comparison.calls_original += len(calls)
        comparison.calls_rewritten += len(calls_rewritten)
        for call, rewritten in zip(calls, calls_rewritten, strict=False):
            if not (call.ended and rewritten.ended):
                break
            comparison.pairs.append(_compare_call(CallKey(key, site, call.number), call, rewritten))
    for divergence in _divergences(ours, theirs):
        found[divergence.site].divergences.append(divergence)


def _by_site(calls: list[Call]) -> dict[str, list[Call]]:
    found: dict[str, list[Call]] = {}
    for call in calls:
        found.setdefault(call.site, []).append(call)
    return found


def _divergences(ours: list[Call], theirs: list[Call]) -> Iterator[Divergence]:
    """The first place where two sequences of calls part, told once for each site that is involved in it."""
    for position, (call, rewritten) in enumerate(zip_longest(ours, theirs)):
        site, site_rewritten = (call.site if call else ""), (rewritten.site if rewritten else "")
        if site != site_rewritten:
            kind = "order" if call and rewritten else "count"
            for one in filter(None, (call, rewritten)):
                yield Divergence(kind, one.site, one.number, position, site, site_rewritten)
            return


def _compare_call(key: CallKey, original: Call, rewritten: Call) -> CallPair:
    deltas = [*_compare_values("input", original.inputs, rewritten.inputs)]
    weak = 0
    if original.raised != rewritten.raised:
        deltas.append(_exception(original, rewritten))
    else:
        deltas += _compare_values("output", original.outputs, rewritten.outputs)
        weak = _weak_differences(original.outputs, rewritten.outputs)
    return CallPair(key, original, rewritten, tuple(deltas), weak)


def _exception(original: Call, rewritten: Call) -> Delta:
    return Delta("call", "exception", original=_raised(original), rewritten=_raised(rewritten))


def _raised(call: Call) -> str:
    if call.raised:
        return f"{call.raised}: {call.raised_text}" if call.raised_text else call.raised
    return "no exception" if call.ended else "did not end"


def _compare_values(where: str, original: Values | None, rewritten: Values | None) -> Iterator[Delta]:
    if original is None or rewritten is None:
        return
    same_signature = original.signature == rewritten.signature
    if same_signature and original.digest == rewritten.digest:
        return
    if not same_signature:
        structure = _compare_structure(where, original, rewritten)
        if structure is not None:
            yield structure
            return
    yield from _compare_leaves(where, original, rewritten)


def _compare_structure(where: str, original: Values, rewritten: Values) -> Delta | None:
    paths = [leaf.path for leaf in original.signature.leaves]
    others = [leaf.path for leaf in rewritten.signature.leaves]
    if paths == others:
        if original.signature.nodes == rewritten.signature.nodes:
            return None
        return Delta(where, "structure", original=original.signature.nodes, rewritten=rewritten.signature.nodes)
    missing = next((path for path in paths if path not in set(others)), "")
    added = next((path for path in others if path not in set(paths)), "")
    return Delta(
        where,
        "structure",
        path=missing or added,
        original=_leaves_with(len(paths), missing),
        rewritten=_leaves_with(len(others), added),
    )


def _leaves_with(count: int, path: str) -> str:
    leaves = "1 leaf" if count == 1 else f"{count} leaves"
    return f"{leaves} with {path}" if path else leaves


def _compare_leaves(where: str, original: Values, rewritten: Values) -> Iterator[Delta]:
    found = False
    for number, (leaf, other) in enumerate(zip(original.signature.leaves, rewritten.signature.leaves, strict=True)):
        delta = _compare_leaf(where, number, leaf, other, _digest(original, number), _digest(rewritten, number))
        if delta is not None:
            found = True
            yield delta
    if not found and original.digest != rewritten.digest and None in (original.leaves, rewritten.leaves):
        yield Delta(where, "value")


def _digest(values: Values, number: int) -> str | None:
    return None if values.leaves is None else values.leaves[number]


def _compare_leaf(
    where: str, number: int, leaf: Leaf, other: Leaf, digest: str | None, other_digest: str | None
) -> Delta | None:
    kind = _leaf_kind(leaf, other, digest, other_digest)
    if not kind:
        return None
    if kind == "scalar":
        return Delta(where, kind, number, leaf.path, digest or "", other_digest or "")
    return _leaf_delta(where, kind, number, leaf, other)


@lru_cache(maxsize=1 << 16)
def _leaf_delta(where: str, kind: str, number: int, leaf: Leaf, other: Leaf) -> Delta:
    """Cached, because a difference in one call is usually one in thousands of calls."""
    return Delta(where, kind, number, leaf.path, _described(leaf), _described(other))


def _leaf_kind(leaf: Leaf, other: Leaf, digest: str | None, other_digest: str | None) -> str:
    """In which way two leaves differ; empty if they do not, or if nothing can be said of them."""
    if "unreadable" in (leaf.kind, other.kind):
        return "unreadable"
    if leaf.kind != other.kind and not (leaf.kind in _NUMBERS and other.kind in _NUMBERS):
        return "structure"
    if leaf.kind not in (*_NUMBERS, "scalar"):
        return ""
    if leaf.shape != other.shape:
        return "shape"
    if leaf.dtype != other.dtype:
        return "dtype"
    if None in (digest, other_digest) or digest == other_digest:
        return ""
    return "scalar" if leaf.kind == "scalar" else "value"


def _described(leaf: Leaf) -> str:
    if leaf.kind in ("array", "local shards"):
        return f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]"
    return {"none": "None", "deleted": "a deleted array"}.get(leaf.kind, leaf.dtype)


def _weak_differences(original: Values | None, rewritten: Values | None) -> int:
    if original is None or rewritten is None or original.signature == rewritten.signature:
        return 0
    pairs = zip(original.signature.leaves, rewritten.signature.leaves, strict=False)
    return sum(leaf.weak != other.weak for leaf, other in pairs)
