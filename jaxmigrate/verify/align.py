"""Finds for each leaf of the original's call the leaf of the rewritten call that stands for it, and in which layout."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from jaxmigrate.verify.layouts import Layout, layout_of
from jaxmigrate.verify.recording import Leaf, Signature, Values

NUMBERS = ("array", "local shards")
_KEYWORD = re.compile(r"\[1\]\['(\w+)'\]")
_POSITION = re.compile(r"\[0\]\[(\d+)\]")
# Also of keys with other characters, all of which name the same.
_STEP = re.compile(r"[^\[\].'\"]+")


class LeafPair(NamedTuple):
    """Two leaves that stand for the same: their positions, the layout, and in which way they cannot agree, if any."""

    ours: int
    theirs: int
    layout: Layout | None
    problem: str


class Alignment(NamedTuple):
    """The pairs of leaves of two calls, by path, and how their structures differ, as text for either side.

    `only_ours` and `only_theirs` are the paths that one side has and the other has not.
    """

    pairs: tuple[LeafPair, ...]
    structure: tuple[str, str, str] | None = None
    only_ours: tuple[str, ...] = ()
    only_theirs: tuple[str, ...] = ()

    @property
    def of_one_form(self) -> bool:
        """Whether every leaf stands for one of the other side."""
        return self.structure is None and not self.only_ours and not self.only_theirs


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

    Leaves that only one side has make another structure, unless the alignment is lenient and there are others.
    """
    paths = [plain_path(where, leaf.path, parameters) for leaf in original.leaves]
    others = [plain_path(where, leaf.path, parameters_rewritten) for leaf in rewritten.leaves]
    places = _places(where, paths, others, original, rewritten, lenient=lenient)
    if places is None:
        names = [named_path(where, path, parameters) for path in paths]
        names_rewritten = [named_path(where, path, parameters_rewritten) for path in others]
        found = _common(original, rewritten, names, names_rewritten, lenient=lenient)
        is_other = not lenient or (where == "output" and not found.pairs)
        return found._replace(structure=_missing(paths, others)) if is_other else found
    leaves = enumerate(original.leaves)
    pairs = tuple(pair_of(n, places[n], leaf, rewritten.leaves[places[n]], lenient=lenient) for n, leaf in leaves)
    if where == "output" and original.nodes != rewritten.nodes and not lenient:
        return Alignment(pairs, ("", original.nodes, rewritten.nodes))
    return Alignment(pairs)


def _places(
    where: str, paths: list[str], others: list[str], original: Signature, rewritten: Signature, *, lenient: bool
) -> list[int] | None:
    """For each leaf of the original the position of its counterpart; None if there is not one for each."""
    if len(paths) != len(others):
        return None
    position = {path: number for number, path in enumerate(others)}
    if len(position) == len(others) and {*paths} == {*others}:
        return [position[path] for path in paths]
    if paths == others:
        return [*range(len(paths))]
    both = enumerate(zip(original.leaves, rewritten.leaves, strict=True))
    pairs = [pair_of(n, n, *leaves, lenient=lenient) for n, leaves in both]
    return None if where == "output" or any(pair.problem for pair in pairs) else [*range(len(paths))]


def _common(
    original: Signature, rewritten: Signature, names: Sequence[str], others: Sequence[str], *, lenient: bool
) -> Alignment:
    """The leaves that both sides have, by name; a field of an object is also that of a dictionary."""
    position = {name_steps(name): number for number, name in enumerate(others)}
    pairs = tuple(
        pair_of(
            n,
            position[name_steps(name)],
            original.leaves[n],
            rewritten.leaves[position[name_steps(name)]],
            lenient=lenient,
        )
        for n, name in enumerate(names)
        if name_steps(name) in position
    )
    paired = {pair.theirs for pair in pairs}
    return Alignment(
        pairs,
        None,
        tuple(name for name in names if name_steps(name) not in position),
        tuple(name for number, name in enumerate(others) if number not in paired),
    )


def name_steps(path: str) -> tuple[str, ...]:
    """What a path leads through, whether by fields, keys or positions."""
    return tuple(_STEP.findall(path))


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


def pair_of(ours: int, theirs: int, leaf: Leaf, other: Leaf, *, lenient: bool) -> LeafPair:
    """Two leaves as a pair; only in a lenient comparison may other axes be merged, which `fix` never does."""
    layout = layout_of(leaf.shape, other.shape, merged=lenient)
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


@lru_cache(maxsize=1 << 14)
def _replaced_by(result: Leaf, signature: Signature) -> int | None:
    found: list[tuple[int, int]] = []
    for number, leaf in enumerate(signature.leaves):
        if (leaf.kind, leaf.dtype, leaf.shape) == (result.kind, result.dtype, result.shape):
            found.append((_common_end(leaf.path, result.path), -number))
    if not found:
        return None
    alike, number = max(found)
    return -number if alike or len(found) == 1 else None


def replaced_by(result: Leaf, given: Values) -> int | None:
    """The argument that a result replaces: of the same shape, and named alike from the end, as parameters are."""
    return _replaced_by(result, given.signature)


def _common_end(one: str, other: str) -> int:
    """How many of the last steps of two paths are the same."""
    steps = ([*reversed(_WORD.findall(path))] for path in (one, other))
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*steps, strict=False)))


# `.params`, `['params']` and `[0]`, of which the first two are one field, of an object or of a dictionary.
_WORD = re.compile(r"\w+")
