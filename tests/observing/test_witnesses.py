"""The marks by which a run shows how the host makes its arrays: they change nothing that the program does."""

from __future__ import annotations

import ast
import builtins
import json
from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.commands.observing import groups_of, observations
from jaxmigrate.commands.planning import PlannedFile
from jaxmigrate.migrate import FilePlan, SitePlan
from jaxmigrate.migrate.plan import ArrayLayout
from jaxmigrate.migrate.witnesses import with_witnesses
from jaxmigrate.program.observed import Making, Observed
from jaxmigrate.sources import SourceFile
from jaxmigrate.verify.observing import Seen, Slices, seen_in, steps_of
from jaxmigrate.verify.recording import Given, Recording

ODD = """\
import math, numpy as jax


class Base:
    def twice(self, x):
        return 2 * x


class Own(Base):
    def twice(self, x):
        return(super().twice(x) + 1)


def rows(*args, n=1):
    return [args, n]


def spread(x):
    if(rows(x)): return(rows)((1, x), n=len(str(x)))
    return (rows
            (x)  # a comment
            )


values = [rows((i, -1)) for i in range(2)] + [rows(i for i in (1, 2))]
text = f"{rows(1)!r:>{len(str(12))}}"
print(text, Own().twice(3), spread(1), len(values), math.floor(1.5), "a b".split()[0].upper(), [*map(spread, (1, 2))])
assert not(rows(0) is None) and(rows(1)), (lambda: locals())()
print(*sorted({spread(1)[1]: 1}.items()), (y := abs(-2)), y.__add__(1))
"""


def test_marks_hand_on_what_they_stand_around(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    marked = with_witnesses("odd.py", Path("/odd.py"), ODD)
    assert marked.count("__jaxmigrate_host__") > 20
    assert len(marked.splitlines()) == len(ODD.splitlines())
    exec(ODD.replace("<generator", ""), {"__name__": "plain"})
    plain = capsys.readouterr().out
    seen: list[str] = []

    def host(mark: str, value: Any) -> Any:
        seen.append(mark)
        return value

    monkeypatch.setitem(vars(builtins), "__jaxmigrate_host__", host)
    exec(marked, {"__name__": "marked"})
    assert capsys.readouterr().out == plain
    assert len(seen) > 30


def test_a_mark_names_its_expression_and_what_it_may_be_made_of() -> None:
    text = "import numpy\nbatch = 1\nx = batch.reshape(batch)\n"
    call = ast.parse(with_witnesses("a.py", Path("/a.py"), text)).body[2]
    marks = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant)]
    whole, *operands = str(max(marks, key=lambda mark: len(str(mark)))).split("\t")
    assert whole == "a.py:3:5-3:24"
    assert operands == ["~a.py:3:19-3:23", "~a.py:3:5-3:9"]


@pytest.mark.parametrize(
    ("path", "steps"),
    [("[0]", [0]), ("[1].params['w']", [1, "params", "w"]), ("", []), ("['a'][0]", ["a", 0])],
)
def test_steps_of_a_key_path(path: str, steps: list[int | str]) -> None:
    assert [*steps_of(path)] == steps


def test_a_call_that_another_is_given_keeps_its_name() -> None:
    text = "import numpy\nx = f(g(1, y), z)\n"
    marked = with_witnesses("a.py", Path("/a.py"), text)
    assert "'a.py:2:5-2:17\\t+a.py:2:7-2:13'" in marked
    assert "'+a.py:2:7-2:13'" in marked


SITE = "train.py:9:1"
MAKER, HELPER, STEP = "train.py:3:5-3:20", "+train.py:4:5-4:20", "@train.py:9:1"


def seen(slices: Slices, does: dict[str, str], *ways: tuple[str, ...], cut: bool = False) -> Observed:
    """What is made of one argument of one map."""
    plan = SitePlan(SITE, "train.py", 9, 1, "call", "i", "step", "rewritten")
    file = FilePlan("train.py", "", "", "", "", (plan,))
    source = SourceFile("train.py", Path("/train.py"), b"", "", "utf-8", bom=False)
    given = {(SITE, 0): frozenset({Given(frozenset(ways), cut)})}
    run = Seen({(SITE, 0): slices}, {}, does, given, set(), 8, 3)
    return observations(run, [PlannedFile(source, file)])


EQUAL, ROWS, NEITHER = Slices(3, True, True), Slices(3, False, True), Slices(3, False, False)
SPOT = (Path("/train.py"), 3, 5, 3, 20)


class TestWhatARunShows:
    def test_a_maker_of_equal_slices_replicates(self) -> None:
        found = seen(EQUAL, {MAKER: "equal"}, (MAKER,))
        assert found.made == {SPOT: Making("replicate", 3)}
        assert found.given == {((Path("/train.py"), 9, 1), 0): Making("replicate", 3)}

    def test_what_a_maker_was_given_is_what_it_replicates(self) -> None:
        assert seen(EQUAL, {MAKER: "replicates\t~train.py:3:9-3:19"}, (MAKER,)).made == {
            SPOT: Making("replicate", 3, "argument")
        }
        assert seen(EQUAL, {MAKER: "replicates\t+train.py:3:5-3:8"}, (MAKER,)).made == {
            SPOT: Making("replicate", 3, "receiver")
        }

    def test_the_call_that_shows_its_operand_is_told_of(self) -> None:
        helper = HELPER.lstrip("+")
        does = {MAKER: "equal", helper: "replicates\t~train.py:4:7-4:9"}
        [spot] = seen(EQUAL, does, (MAKER, helper)).made
        assert spot[1] == 4

    def test_a_call_that_maps_stays(self) -> None:
        does = {MAKER: "replicates\t~train.py:3:9-3:19"}
        assert seen(EQUAL, does, ("@train.py:7:1", MAKER)).made == {SPOT: Making("replicate", 3)}

    def test_results_that_come_back_are_no_batch_and_enter_nowhere(self) -> None:
        assert not seen(ROWS, {}, (STEP,), cut=True)
        assert not seen(EQUAL, {}, (STEP,))

    def test_rows_are_a_batch_only_where_the_host_cut_it(self) -> None:
        assert seen(ROWS, {MAKER: "rows"}, (MAKER,), cut=True).made == {SPOT: Making("split", 3)}
        assert not seen(ROWS, {MAKER: "rows"}, (MAKER,))
        assert not seen(NEITHER, {MAKER: "rows"}, (MAKER,), cut=True)

    def test_unlike_slices_are_neither_whatever_their_maker_does(self) -> None:
        assert not seen(NEITHER, {MAKER: "equal"}, (MAKER,))

    def test_the_facts_of_a_group_can_be_taken_back(self) -> None:
        found = seen(EQUAL, {MAKER: "equal"}, (MAKER,))
        assert not found.without({("made", SPOT), ("given", (Path("/train.py"), 9, 1), 0)})


def test_arrays_that_share_an_observation_are_one_group() -> None:
    def array(*facts: str) -> ArrayLayout:
        return ArrayLayout("x", "replicated", grade="observed", facts=frozenset((fact,) for fact in facts))

    first = SitePlan("a", "a", 1, 1, "call", "i", "f", "rewritten", arguments=(array("1", "2"), array("3")))
    second = SitePlan("b", "a", 2, 1, "call", "i", "f", "rewritten", outputs=(array("2", "4"), array()))
    left = SitePlan("c", "a", 3, 1, "call", "i", "f", "left", outputs=(array("3", "4"),))
    source = SourceFile("a", Path("/a"), b"", "", "utf-8", bom=False)
    file = PlannedFile(source, FilePlan("a", "", "", "", "", (first, second, left)))
    assert sorted(map(sorted, groups_of([file]))) == [[("1",), ("2",), ("4",)], [("3",)]]


@pytest.mark.parametrize(
    ("parts", "shape", "expected"),
    [
        ("=abc", (8, 4), Slices(1, True, True)),
        ("=abc", (8,), Slices(1, True, False)),
        ("abcdef", (8, 4), Slices(1, False, True)),
        ("abcdef", (8, 2), Slices(1, False, False)),  # a key for each device, in its bits
        ("=abc", (4, 4), Slices(1, False, False)),  # not one slice for each device
    ],
)
def test_slices_of_a_recorded_array(tmp_path: Path, parts: str, shape: tuple[int, ...], expected: Slices) -> None:
    folder = tmp_path / "records"
    folder.mkdir()
    dtype = "uint32" if shape == (8, 2) else "float32"
    lines: list[dict[str, Any]] = [
        {"k": "process", "pid": 1},
        {"k": "jax", "local_devices": 8},
        {"k": "sig", "id": 0, "nodes": "", "leaves": [["[0][0]['w']", "array", dtype, list(shape), False]]},
        {"k": "enter", "n": 0, "site": "s", "i": 0, "thread": "", "within": []},
        {"k": "in", "n": 0, "sig": 0, "digest": "", "leaves": f"whole\t\t{parts}"},
        {"k": "given", "site": "s", "argument": 0, "from": [["a"], []], "cut": True},
        {"k": "host", "at": "a", "does": "equal"},
    ]
    (folder / "1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    recording = Recording(tmp_path)
    recording.read_on()
    found = seen_in(recording)
    assert found.arguments == {("s", 0): expected}
    assert found.does == {"a": "equal"}
    assert found.given == {("s", 0): frozenset({Given(frozenset({("a",), ()}), True)})}
