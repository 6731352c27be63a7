"""Records behave as dataclasses with slots do."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass
from functools import cached_property

import pytest

from jaxmigrate.records import made, record, replace


@record
class Point:
    """A frozen record."""

    x: int
    y: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PlainPoint:
    """The same as a dataclass."""

    x: int
    y: tuple[int, ...] = ()


@record(eq=False, frozen=False)
class Pile:
    """A record that changes and is nothing but itself."""

    name: str
    held: list[int] = made(factory=list)


@record
class Nothing:
    """No fields."""


def test_equality_and_hash_are_those_of_a_dataclass() -> None:
    assert Point(1) == Point(1, ()) != Point(1, (2,))
    assert hash(Point(1, (2,))) == hash(PlainPoint(1, (2,)))
    other: object = PlainPoint(1)
    assert Point(1) != other
    assert {Nothing()} == {Nothing()}


def test_what_a_record_holds_equals_itself() -> None:
    @record
    class Held:
        value: object

    assert Held(math.nan) == Held(math.nan)
    assert Held(1) == Held(True) != Held(2)


def test_ordered_records_sort_as_their_fields_do() -> None:
    @record(order=True)
    class Place:
        path: str
        line: int = 1

    places = [Place("b"), Place("a", 2), Place("a")]
    assert sorted(places) == [Place("a"), Place("a", 2), Place("b")]
    assert Place("a") <= Place("a") < Place("b") >= Place("b") > Place("a", 9)
    with pytest.raises(TypeError, match="not supported"):
        sorted([Point(1), Point(2)])  # type: ignore[type-var]


def test_what_is_computed_once_is_kept_and_is_no_field() -> None:
    computed: list[int] = []

    @record
    class Text:
        content: str

        @cached_property
        def length(self) -> int:
            computed.append(1)
            return len(self.content)

    text = Text("abc")
    assert (text.length, text.length, len(computed)) == (3, 3, 1)
    assert text == Text("abc")
    assert replace(text, content="ab").length == 2


def test_what_is_not_given_is_made_anew() -> None:
    one, other = Pile("a"), Pile("a")
    one.held.append(1)
    assert (one.held, other.held, Pile("b", [3]).held) == ([1], [], [3])
    assert one != other
    assert {one: 1}[one] == 1


@pytest.mark.parametrize("arguments", [(), (1, (), 2)])
def test_wrong_arguments_are_refused(arguments: tuple[object, ...]) -> None:
    with pytest.raises(TypeError, match="__init__"):
        Point(*arguments)  # type: ignore[arg-type]


def test_there_is_nothing_but_the_fields() -> None:
    with pytest.raises(AttributeError):
        Pile("a").size = 1  # type: ignore[attr-defined]


def test_a_changed_copy_a_pattern_and_a_pickle() -> None:
    match replace(Point(1), y=(5,)):
        case Point(x, y=(only,)):
            assert (x, only) == (1, 5)
        case _:
            pytest.fail("no match")
    assert pickle.loads(pickle.dumps(Point(3, (4,)))) == Point(3, (4,))
    assert repr(Point(3, (4,))) == repr(PlainPoint(3, (4,))).replace("Plain", "")


def test_a_changing_record_with_equality_has_no_hash() -> None:
    @record(frozen=False)
    class Counter:
        count: int = 0

    assert Counter() == Counter(0)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counter())


def test_the_names_are_those_that_dataclasses_give() -> None:
    assert Point.__match_args__ == PlainPoint.__match_args__ == ("x", "y")
    assert Point.__init__.__qualname__ == "Point.__init__"
