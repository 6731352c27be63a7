"""The forms, keywords and ways of calling pmap, combined: originals and rewrites run on 8 devices and agree bitwise.

Every two values that can meet in one program do, and every three of those that decide what happens at run time.
`python tests/campaigns/forms.py` goes on through all combinations for as long as it is given.
"""

from __future__ import annotations

import functools
import itertools

import pytest

from jaxmigrate.migrate import fix_files
from tests.flags import UNOPTIMISED
from tests.longer import all_but_every, chosen
from tests.migrate.forms.covering import AT_RUN_TIME, SIZE, at, completed, covering, index_of, shuffled, violating
from tests.migrate.forms.dimensions import DIMENSIONS, EXCLUDED, SHOWN, excluded
from tests.migrate.forms.programs import files_of
from tests.migrate.forms.running import Program, run

SEED = 0


def table() -> list[dict[str, str]]:
    pairs = covering(2, SEED)
    return [*pairs, *covering(3, SEED, AT_RUN_TIME, pairs)]


TABLE = table()


@functools.cache
def fixed(place: int) -> dict[str, str]:
    """The files of a program of the table as fix leaves them."""
    return fix_files(files_of(TABLE[place]))


@pytest.fixture(scope="module")
def verdicts(request: pytest.FixtureRequest) -> dict[str, str]:
    """What is wrong with each program of the table, by its place; nothing where both agree."""
    programs = (Program(str(i), files_of(TABLE[i]), fixed(i)) for i in sorted(chosen(request, "place")))
    found = run(programs, flags=UNOPTIMISED)  # test_forms.py compares every form as XLA optimises it
    return {v.name: "" if v.verdict == "agrees" else f"{v.verdict}: {v.text[:3000]}" for v in found}


@pytest.mark.parametrize("place", all_but_every(3, len(TABLE)))
def test_agrees_bitwise(place: int, verdicts: dict[str, str]) -> None:
    verdict = verdicts[str(place)]
    files = files_of(TABLE[place])
    assert not verdict, "\n".join([str(TABLE[place]), verdict, *files.values(), *fixed(place).values()])


DIRECT = covering(2, SEED, ("stand", "mapped", "in_axes", "out_axes", "static", "donate", "call"), rules=SHOWN)


@functools.cache
def direct(place: int) -> tuple[dict[str, str], dict[str, str]]:
    """A program whose arrays have a row for each device, or fewer, before and after fix."""
    files = files_of(DIRECT[place])
    if DIRECT[place]["call"] not in ("fewer", "changing"):
        files["main.py"] += "# a row for each of jax.device_count()\n"
    return files, fix_files(files)


@pytest.fixture(scope="module")
def direct_verdicts(request: pytest.FixtureRequest) -> dict[str, str]:
    """What is wrong with each program whose rewrite shows its shard_map."""
    programs = (Program(str(i), *direct(i)) for i in sorted(chosen(request, "place")))
    found = run(programs, flags=UNOPTIMISED)
    return {v.name: "" if v.verdict == "agrees" else f"{v.verdict}: {v.text[:3000]}" for v in found}


@pytest.mark.parametrize("place", all_but_every(3, len(DIRECT)))
def test_what_shows_its_shard_map_agrees_bitwise(place: int, direct_verdicts: dict[str, str]) -> None:
    verdict = direct_verdicts[str(place)]
    assert not verdict, "\n".join([str(DIRECT[place]), verdict, *(t for f in direct(place) for t in f.values())])


def test_most_of_them_show_it() -> None:
    shown = ["def shard_map_stacked(" not in "".join(direct(i)[1].values()) for i in range(len(DIRECT))]
    assert sum(shown) >= 0.5 * len(DIRECT), sum(shown)


def test_again_changes_nothing() -> None:
    for place, combination in enumerate(TABLE):
        once = fixed(place)
        assert once != files_of(combination), combination
        assert fix_files(once) == once, combination


def test_every_two_values_meet_that_can() -> None:
    met = {frozenset(pair) for c in TABLE for pair in itertools.combinations(c.items(), 2)}
    for one, other in itertools.combinations(DIMENSIONS, 2):
        for values in itertools.product(DIMENSIONS[one], DIMENSIONS[other]):
            part = dict(zip((one, other), values, strict=True))
            assert frozenset(part.items()) in met or completed(part) is None, part


def test_what_pmap_refuses_does_raise() -> None:
    """The list of combinations that are not run says nothing of pmap that it does not do."""
    rules = {
        f"{rule.reason} {seed}": violating(rule, seed) for rule in EXCLUDED if rule.by == "pmap" for seed in (1, 2)
    }
    found = run((Program(name, files_of(combination), None) for name, combination in rules.items()), flags=UNOPTIMISED)
    assert {v.name: v.verdict for v in found} == dict.fromkeys(rules, "original raises")


def test_the_whole_product_is_walked_once() -> None:
    walk = list(itertools.islice(shuffled(3), 1000))
    assert len(set(walk)) == 1000
    assert all(0 <= index < SIZE and index_of(at(index)) == index for index in walk)
    assert sum(excluded(at(index)) is None for index in walk) > 300
