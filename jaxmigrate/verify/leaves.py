"""Compares the arguments or the results of one call on both sides, leaf by leaf, by their digests."""

from __future__ import annotations

from functools import lru_cache

from jaxmigrate.verify.align import NUMBERS, Alignment, LeafPair
from jaxmigrate.verify.comparison import Delta, SiteComparison
from jaxmigrate.verify.layouts import Digests, Layout, agrees, explain, is_known
from jaxmigrate.verify.recording import Leaf, Values


def compare_values(where: str, original: Values, rewritten: Values, site: SiteComparison) -> list[Delta] | None:
    """How two sides of a call differ; None if the logs do not tell."""
    same_signature = original.signature == rewritten.signature
    if same_signature and original.digest == rewritten.digest:
        return []
    alignment = site.align(where, original.signature, rewritten.signature)
    other_structure = [Delta(where, "structure", None, *alignment.structure)] if alignment.structure is not None else []
    ours, theirs = original.leaves, rewritten.leaves
    if ours is None or theirs is None:
        return other_structure or _compare_without_leaves(where, alignment, original, rewritten)
    return other_structure + [
        delta
        for pair in alignment.pairs
        if (delta := _compare_leaf(where, pair, original, rewritten, ours, theirs)) is not None
    ]


def _compare_without_leaves(
    where: str, alignment: Alignment, original: Values, rewritten: Values
) -> list[Delta] | None:
    """By the digest of the whole call, which says something only if nothing is held in another layout."""
    found = [
        _leaf_delta(where, pair, original.signature.leaves[pair.ours], rewritten.signature.leaves[pair.theirs])
        for pair in alignment.pairs
        if pair.problem
    ]
    if found or original.digest == rewritten.digest:
        return found
    kinds = [leaf.kind for values in (original, rewritten) for leaf in values.signature.leaves]
    same = all(pair.layout is Layout.SAME for pair in alignment.pairs) and "scalar" not in kinds
    return [Delta(where, "value")] if same else None


def _compare_leaf(
    where: str,
    pair: LeafPair,
    original: Values,
    rewritten: Values,
    digests: tuple[Digests, ...],
    digests_rewritten: tuple[Digests, ...],
) -> Delta | None:
    leaf, other = original.signature.leaves[pair.ours], rewritten.signature.leaves[pair.theirs]
    if pair.problem:
        return _leaf_delta(where, pair, leaf, other)
    ours, theirs = digests[pair.ours], digests_rewritten[pair.theirs]
    if ours == theirs or pair.layout is None or leaf.kind not in (*NUMBERS, "scalar"):
        return None
    if "scalar" in (leaf.kind, other.kind):
        return _compare_scalars(where, pair, leaf, other, ours, theirs)
    if agrees(pair.layout, ours, theirs):
        return None
    if not is_known(pair.layout, theirs):
        return _leaf_delta(where, pair, leaf, other, "shape")
    kind = "replicas" if theirs.replicas and theirs.replicas != ours.replicas else "value"
    return _leaf_delta(where, pair, leaf, other, kind, explain(pair.layout, ours, theirs))


def _compare_scalars(
    where: str, pair: LeafPair, leaf: Leaf, other: Leaf, ours: Digests, theirs: Digests
) -> Delta | None:
    """Two scalars, or a scalar and an array: a mapped function sees the same in both."""
    layout = pair.layout or Layout.SAME
    dtypes = [_seen_dtype(leaf, ours), _seen_dtype(other, theirs)]
    if dtypes[0] == dtypes[1] and agrees(layout, _seen(leaf, ours), _seen(other, theirs)):
        return None
    text, text_rewritten = _shown(leaf, ours), _shown(other, theirs)
    return Delta(where, "scalar", pair.ours, leaf.path, text, text_rewritten, pair.theirs, layout)


def _shown(leaf: Leaf, digests: Digests) -> str:
    return digests.whole if leaf.kind == "scalar" else _described(leaf)


def _seen(leaf: Leaf, digests: Digests) -> Digests:
    return Digests(digests.flat.partition(" ")[2] or digests.whole) if leaf.kind == "scalar" else digests


def _seen_dtype(leaf: Leaf, digests: Digests) -> str:
    return digests.flat.partition(" ")[0] or leaf.dtype if leaf.kind == "scalar" else leaf.dtype


@lru_cache(maxsize=1 << 16)
def _leaf_delta(where: str, pair: LeafPair, leaf: Leaf, other: Leaf, kind: str = "", detail: str = "") -> Delta:
    """Cached, because a difference in one call is usually one in thousands of calls."""
    texts = _described(leaf), _described(other)
    return Delta(where, kind or pair.problem, pair.ours, leaf.path, *texts, pair.theirs, pair.layout, detail)


def _described(leaf: Leaf) -> str:
    if leaf.kind in ("array", "local shards"):
        return f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]"
    return {"none": "None", "deleted": "a deleted array"}.get(leaf.kind, leaf.dtype)
