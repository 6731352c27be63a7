"""The fuzzers find what they are for, and a few of their programs hold on every run of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flags import UNOPTIMISED
from tests.fuzz import killing, lint, programs, text, tuples
from tests.fuzz.grammar.choices import Choices
from tests.fuzz.mutating import SMALL, mutated
from tests.fuzz.running import HOSTS, Case, Worker, generated, planned, rewritten, texts
from tests.fuzz.shrinking import smaller

SEED, PROGRAMS, TEXTS, LINTED = "make test", 5, 16, 1
HEAD = "import jax\nimport jax.numpy as jnp\nimport numpy as np\n"
NUMBERS = "np.arange(8, dtype=np.float32) / 3"


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(flags=UNOPTIMISED) as made:
        yield made


@pytest.mark.parametrize("number", range(PROGRAMS))
def test_programs_keep_what_they_observe(number: int, worker: Worker) -> None:
    _, files = generated(f"{SEED}:{number}")
    case = rewritten(str(number), files)
    assert not programs.bad(worker.ask(case))


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (f"{NUMBERS}", f"{NUMBERS}", "equal"),
        (f"{NUMBERS}", f"jnp.asarray({NUMBERS})", "types"),
        (f"{NUMBERS}", f"({NUMBERS}) * np.float32(1.000001)", "last bits"),
        (f"{NUMBERS}", f"({NUMBERS}) * np.float32(1.001)", "differs"),
        (f"{NUMBERS}", f"({NUMBERS})[None]", "differs"),
        (f"{NUMBERS}", f"({NUMBERS}).astype(np.float64)", "differs"),
        ("[1, 2]", "(1, 2)", "differs"),
        ("{'a': 1.5}", "{'b': 1.5}", "differs"),
        ("print('loss 0.12345')", "print('loss 0.12346')", "differs"),
        ("print('loss 0.1234567')", "print('loss 0.1234568')", "last bits"),
        ("print(np.float32(2.5))", "print(np.array(2.5, np.float32))", "equal"),
        ("print([np.float32(2.5)])", "print([np.array(2.5, np.float32)])", "types"),
        ("print([np.float32(2.5)])", "print([np.array(3.5, np.float32)])", "differs"),
        ("1", "1 / 0", "raises"),
        ("1 / 0", "1", "original raises"),
    ],
)
def test_what_differs_is_seen(before: str, after: str, verdict: str, worker: Worker) -> None:
    files = {"main.py": f"{HEAD}RESULT = {before}\n"}
    case = Case("made", files, {"auto": {"main.py": f"{HEAD}RESULT = {after}\n"}})
    assert worker.ask(case)["auto"][0] == verdict


def test_a_program_that_ends_its_process_costs_itself_alone(worker: Worker) -> None:
    ends = {"main.py": "import os\nos._exit(3)\n"}
    assert worker.ask(Case("ends", {"main.py": "RESULT = 1\n"}, {"auto": ends}))["auto"][0] == "crashes"
    assert worker.ask(Case("next", {"main.py": "RESULT = 1\n"}, {"auto": {"main.py": "RESULT = 1\n"}})) == {
        "auto": ("equal", "")
    }


def test_most_programs_get_global_arrays() -> None:
    numbers = range(0, 8 * HOSTS, HOSTS)  # programs with mapped functions of their own
    cases = [rewritten(str(n), generated(f"share:{n}")[1], ("auto",)) for n in numbers]
    assert sum(case.has_global for case in cases) >= 5


def test_a_program_is_the_same_each_time_and_can_be_written_from_its_choices() -> None:
    choices, files = generated("again:1")
    assert generated("again:1")[1] == files
    assert generated(given=choices.drawn)[1] == files
    assert generated(given=[])[1] != files


def test_shrinking_keeps_what_fails() -> None:
    def fails(drawn: list[int]) -> bool:
        return "cond(" in "".join(generated(given=drawn)[1].values())

    number = next(n for n in range(100) if fails(generated(f"shrink:{n}")[0].drawn))
    drawn = generated(f"shrink:{number}")[0].drawn
    found = smaller(drawn, fails, iter([True] * 120 + [False] * 9).__next__)
    assert fails(found)
    assert len(found) < len(drawn)
    assert sum(map(len, generated(given=found)[1].values())) < sum(map(len, generated(given=drawn)[1].values()))


def test_choices_that_run_out_are_the_simplest() -> None:
    choices = Choices(given=[7])
    assert [choices.below(5), choices.below(5), choices.chance(99)] == [2, 0, False]


@pytest.mark.parametrize("number", range(TEXTS))
def test_no_byte_is_lost(number: int, tmp_path: Path) -> None:
    raw = mutated(f"{SEED}:{number}", SMALL)
    found, _ = text.faults(raw, ("stacked", "auto")[number % 2], tmp_path)
    assert not found


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda raw: raw.replace(b"x = 1", b"x = 2"), "lost the line"),
        (lambda raw: raw.replace(b"\r\n", b"\n"), "line endings"),
        (lambda raw: raw.removeprefix(text.BOM), "byte order mark"),
        (lambda raw: raw + b"(", "does not parse"),
        (lambda raw: raw.replace("# é\r\n".encode(), b""), "lost the line"),
    ],
)
def test_a_lost_byte_is_seen(change: text.Change, fault: str) -> None:
    raw = text.BOM + "# é\r\nimport jax\r\nx = 1\r\np = jax.pmap(print)\r\n".encode()
    found = text.compared(raw, change(raw), "stacked")
    assert any(fault in one for one in found), found


RETURNS = """import jax


def f(x):
    return x + 1  # a result


def g(x):
    return x + 1


def h(x):
    def inner(y):
        return x * y
    return inner(x), x


p, q = jax.pmap(f, "i"), jax.pmap(h, "i")
"""
PUT_BACK = RETURNS.replace(
    "x + 1  # a result", "jax.tree.map(lambda x: jnp.expand_dims(x, 0), x + 1)  # a result"
).replace("inner(x), x\n", "inner(x)[None], jax.tree.map(lambda x: jnp.expand_dims(x, 0), x)\n")


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        (("", ""), []),
        (("  # a result", ""), ["    return x + 1  # a result"]),
        (("x + 1)", "x + 2)"), ["    return x + 1  # a result"]),
        (("def f(", "def other("), ["def f(x):", "    return x + 1  # a result"]),
        (("    return x + 1\n", "    pass\n"), ["    return x + 1"]),
        (("inner(x)[None]", "inner(x + 0)[None]"), ["    return inner(x), x"]),
        (("        return x * y\n", "        return y * x\n"), ["        return x * y"]),
    ],
)
def test_a_returned_value_is_kept_only_where_its_function_returns_it(change: tuple[str, str], lost: list[str]) -> None:
    found = text.lost_lines(RETURNS, PUT_BACK.replace(*change), "stacked", mixed=False)
    assert [line.rstrip("\n") for line in found] == lost


@pytest.mark.parametrize("number", range(LINTED))
def test_changes_that_mean_nothing_change_no_finding(number: int) -> None:
    seed = f"{SEED}:{number}"
    for name, verdict, said, made in lint.tried(generated(seed)[1], seed):
        assert verdict in ("kept", "found"), (name, said, made["main.py"])


def test_a_killed_fix_leaves_every_file_whole() -> None:
    counts, broken, _ = killing.rounds(seed=1, count=2, files=25)
    assert len(counts) == 2
    assert not broken


def test_a_rewritten_program_is_planned_as_a_part_of_a_project() -> None:
    _, files = generated("share:0")
    assert set(texts(planned(files, "auto"))) == set(files)


def test_tuples_of_unlike_parts_keep_every_bit() -> None:
    found = tuples.tried([f"{SEED}-{number}" for number in range(8)])
    assert not [one for one in found if one.wrong]
    assert any(one.has_parts for one in found)
