"""Finds for each leaf of the original's call the leaf of the rewritten call that stands for it, and in which layout."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from jaxmigrate.verify.layouts import Layout, layout_of
from jaxmigrate.verify.recording import Leaf, Signature

NUMBERS = ("array", "local shards")
_KEYWORD = re.compile(r"\[1\]\['(\w+)'\]")
_POSITION = re.compile(r"\[0\]\[(\d+)\]")


class LeafPair(NamedTuple):
    """Two leaves that stand for the same: their positions, the layout, and in which way they cannot agree, if any."""

    ours: int
    theirs: int
    layout: Layout | None
    problem: str


class Alignment(NamedTuple):
    """The pairs of leaves of two calls, or how their structures differ, as text for either side."""

    pairs: tuple[LeafPair, ...]
    structure: tuple[str, str, str] | None = None


@lru_cache(maxsize=1 << 10)
def align(
    where: str,
    original: Signature,
    rewritten: Signature,
    parameters: Sequence[str] = (),
    parameters_rewritten: Sequence[str] = (),
    lenient: bool = False,
) -> Alignment:
    """The leaves of two calls side by side; arguments by keyword are matched with those by position.

    A lenient alignment leaves out arguments that only one side has.
    """
    paths = [plain_path(where, leaf.path, parameters) for leaf in original.leaves]
    others = [plain_path(where, leaf.path, parameters_rewritten) for leaf in rewritten.leaves]
    places = _places(where, paths, others, original, rewritten)
    if places is None and lenient and where == "input":
        return _common(original, rewritten, paths, others, parameters, parameters_rewritten)
    if places is None:
        return Alignment((), _missing(paths, others))
    if where == "output" and original.nodes != rewritten.nodes:
        return Alignment((), ("", original.nodes, rewritten.nodes))
    return Alignment(
        tuple(_pair(n, places[n], leaf, rewritten.leaves[places[n]]) for n, leaf in enumerate(original.leaves))
    )


def _places(
    where: str, paths: list[str], others: list[str], original: Signature, rewritten: Signature
) -> list[int] | None:
    """For each leaf of the original the position of its counterpart; None if there is not one for each."""
    if len(paths) != len(others):
        return None
    position = {path: number for number, path in enumerate(others)}
    if len(position) == len(others) and {*paths} == {*others}:
        return [position[path] for path in paths]
    if paths == others:
        return [*range(len(paths))]
    pairs = [_pair(n, n, *leaves) for n, leaves in enumerate(zip(original.leaves, rewritten.leaves, strict=True))]
    return None if where == "output" or any(pair.problem for pair in pairs) else [*range(len(paths))]


def _common(
    original: Signature,
    rewritten: Signature,
    paths: Sequence[str],
    others: Sequence[str],
    parameters: Sequence[str],
    parameters_rewritten: Sequence[str],
) -> Alignment:
    """The arguments that both sides have, by the names of their parameters, or by position where there are none."""
    names = [named_path("input", path, parameters) for path in paths]
    position = {named_path("input", path, parameters_rewritten): number for number, path in enumerate(others)}
    return Alignment(
        tuple(
            _pair(n, position[name], original.leaves[n], rewritten.leaves[position[name]])
            for n, name in enumerate(names)
            if name in position
        )
    )


def plain_path(where: str, path: str, parameters: Sequence[str]) -> str:
    """The path of an argument as if it had been given by position, where the mapped function names it."""
    found = _KEYWORD.match(path) if where == "input" else None
    if found is None or found[1] not in parameters:
        return path
    return f"[0][{[*parameters].index(found[1])}]{path[found.end() :]}"


def named_path(where: str, path: str, parameters: Sequence[str]) -> str:
    """The path of an argument with the name of its parameter, for people: `batch['x']`."""
    if where != "input":
        return path
    found = _POSITION.match(path)
    if found is not None and int(found[1]) < len(parameters):
        return f"{parameters[int(found[1])]}{path[found.end() :]}"
    keyword = _KEYWORD.match(path)
    return f"{keyword[1]}{path[keyword.end() :]}" if keyword is not None else path


def _missing(paths: list[str], others: list[str]) -> tuple[str, str, str]:
    missing = next((path for path in paths if path not in {*others}), "")
    added = next((path for path in others if path not in {*paths}), "")
    return missing or added, _leaves_with(len(paths), missing), _leaves_with(len(others), added)


def _leaves_with(count: int, path: str) -> str:
    leaves = "1 leaf" if count == 1 else f"{count} leaves"
    return f"{leaves} with {path}" if path else leaves


def _pair(ours: int, theirs: int, leaf: Leaf, other: Leaf) -> LeafPair:
    layout = layout_of(leaf.shape, other.shape)
    return LeafPair(ours, theirs, layout, _problem(leaf, other, layout))


def _problem(leaf: Leaf, other: Leaf, layout: Layout | None) -> str:
    """In which way two leaves cannot agree whatever they hold."""
    kinds = (leaf.kind, other.kind)
    if "unreadable" in kinds:
        return "unreadable"
    if not all(kind in (*NUMBERS, "scalar") for kind in kinds):
        return "" if leaf.kind == other.kind else "structure"
    if layout is None:
        return "shape"
    return "dtype" if leaf.dtype != other.dtype and "scalar" not in kinds else ""
