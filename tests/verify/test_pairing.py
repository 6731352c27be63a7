"""Leaves of trees that are not of one form: what they hold and what they replace says which are the same."""

from __future__ import annotations

from jaxmigrate.verify.align import Alignment
from jaxmigrate.verify.pairing import Sides, paired
from jaxmigrate.verify.recording import Leaf, Signature, Values


def values(**held: str) -> Values:
    """Results by path, each with what it holds; all are arrays of one shape."""
    leaves = tuple(Leaf(path, "array", "float32", (8, 3), False) for path in held)
    return Values(Signature("", leaves), "", "\n".join(held.values()), "", ())


def names(found: Alignment, ours: Values, theirs: Values) -> dict[str, str]:
    return {ours.signature.leaves[pair.ours].path: theirs.signature.leaves[pair.theirs].path for pair in found.pairs}


def pairs_of(ours: Values, theirs: Values, where: str = "output") -> dict[str, str]:
    return names(paired(Sides(where, [(ours, theirs)])), ours, theirs)


def test_a_state_in_two_parts_is_paired_by_what_it_holds() -> None:
    ours = values(**{".g['w']": "a", ".d['w']": "b", ".step": "c"})
    theirs = values(**{"[0].params['w']": "b", "[1].params['w']": "a"})
    assert pairs_of(ours, theirs) == {".g['w']": "[1].params['w']", ".d['w']": "[0].params['w']"}
    found = paired(Sides("output", [(ours, theirs)]))
    assert (found.only_ours, found.only_theirs, found.structure) == ((".step",), (), None)


def test_a_wrong_result_is_paired_with_what_is_left() -> None:
    ours = values(**{".g['w']": "a", ".d['w']": "b"})
    theirs = values(**{"[0]['w']": "wrong", "[1]['w']": "a", "[2]": "x"})
    assert pairs_of(ours, theirs) == {".g['w']": "[1]['w']", ".d['w']": "[0]['w']"}


def test_fields_of_one_name_are_the_same_whatever_they_hold() -> None:
    ours = values(**{"['loss']": "a", "['norm']": "b"})
    theirs = values(**{"['loss']": "b", "['norm']": "a", "['more']": "c"})
    assert pairs_of(ours, theirs) == {"['loss']": "['loss']", "['norm']": "['norm']"}


def test_what_many_hold_says_nothing_and_names_decide() -> None:
    zeros = {".opt.mu['w']": "0", ".opt.nu['w']": "0"}
    theirs = values(**{"[0].state.nu['w']": "0", "[0].state.mu['w']": "0", "[1]": "y"})
    assert pairs_of(values(**zeros), theirs) == {
        ".opt.mu['w']": "[0].state.mu['w']",
        ".opt.nu['w']": "[0].state.nu['w']",
    }


def test_arguments_are_left_alone_where_nothing_speaks_for_them() -> None:
    ours = values(**{"[0][0]": "a", "[0][1]": "b"})
    theirs = values(**{"[0][1]['x']": "a", "[0][2]": "z", "[0][3]": "y"})
    assert pairs_of(ours, theirs, "input") == {"[0][0]": "[0][1]['x']"}


def test_results_follow_the_arguments_that_they_replace() -> None:
    ours, theirs = values(**{".a": "1", ".b": "2"}), values(**{"[0]": "3", "[1]": "4", "[2]": "5"})
    found = paired(Sides("output", [(ours, theirs)]), {0: 1, 1: 0})
    assert names(found, ours, theirs) == {".a": "[1]", ".b": "[0]"}
