"""Stars in calls: what `f(*args)` and `f(**named)` give, and how many, where the called function says it.

A tuple gives its parts. A list, or a tree of arrays of which no more is known, gives as many as a mapped function needs
beside the others, if it takes a fixed number: with any other number the call raises, in either program.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from jaxmigrate.flow.guards import is_tried
from jaxmigrate.flow.layout import class_index, projections, results
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, Given
from jaxmigrate.flow.layout.values import (
    PLAIN,
    Abstract,
    Dct,
    Func,
    Nothing,
    Plain,
    Ref,
    Site,
    Tup,
    is_empty,
)
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Function, Partial


@dataclass(slots=True)
class Arguments:
    """The arguments of a call while they are gathered; `to_maps` where mapped functions alone are called."""

    to_maps: bool
    positional: list[Abstract] = field(default_factory=list)
    named: dict[str, Abstract] = field(default_factory=dict)
    places: dict[int | str, ast.expr] = field(default_factory=dict)
    hidden: bool = False
    sure: int = 0
    star: int | None = None  # the one that stands for a number of arguments that is not known
    mapping: Abstract | None = None  # what is spread by names that are not known
    waits: bool = False

    def given(self) -> Given:
        """The arguments."""
        return Given(
            tuple(self.positional), self.named, self.hidden, self.sure, self.places, self.star, self.mapping, self.waits
        )


def calls_maps(callee: Abstract) -> bool:
    """Whether mapped functions alone are called."""
    return isinstance(callee, Func) and all(isinstance(item, Site) for item in callee.items)


def star(it: Interpreter, given: Arguments, node: ast.Starred, frame: Frame) -> None:
    """`*args`."""
    value = it.evaluate(node.value, frame)
    parts = _parts(it, value)
    if parts is not None:
        given.positional += parts
        given.sure += 0 if given.hidden else len(parts) - 1
        return
    given.waits |= not it.final and (isinstance(value, Nothing) or (given.to_maps and is_empty(value)))
    given.sure -= not given.hidden
    given.star = None if given.hidden else len(given.positional)
    given.hidden = True
    given.positional.append(_one(it, value, node, frame, to_map=given.to_maps and given.star is not None))


def _parts(it: Interpreter, value: Abstract) -> list[Abstract] | None:
    """The parts of a tuple of which the length is known."""
    match value:
        case Tup(parts=parts):
            return [*parts]
        case Ref(shape=shape) if shape is not None and shape.parts is not None and not value.is_array:
            it.changed |= value.group.flatten()
            return [value.part(part) for part in shape.parts]
    return None


def _one(it: Interpreter, value: Abstract, node: ast.Starred, frame: Frame, *, to_map: bool) -> Abstract:
    """Any of what a star spreads; whether a tree of arrays is a tuple of them is for a reader to say."""
    if to_map and isinstance(value, Ref) and not value.is_array and it.trust.likely:
        says = f"`{ast.unparse(node.value)}` is a tuple or list of arrays, and not one array"
        it.lean([value], Assumption("likely", "splits", "", says, frame.module, node))
        it.changed |= value.group.flatten()
        return value.part()
    return projections.element(it, value, node, frame)


def double_star(it: Interpreter, given: Arguments, node: ast.keyword, frame: Frame) -> None:
    """`**named`."""
    value = it.evaluate(node.value, frame)
    match value:
        case Dct(box=box):
            given.named |= box.fields
            if not isinstance(box.element, Nothing):
                given.hidden, given.star = True, None
                given.named["**"] = box.element
        case Nothing():
            given.waits |= not value.none and not it.final
        case Ref() | Plain() if given.to_maps and not given.hidden:
            given.hidden, given.mapping = True, value
        case _:
            if given.mapping is not None:  # nothing says which of the two gives which argument
                _block_spread(it, given.mapping, node.value, frame)
            given.hidden, given.star, given.mapping = True, None, None
            _block_spread(it, value, node.value, frame)


def _block_spread(it: Interpreter, value: Abstract, node: ast.AST, frame: Frame) -> None:
    it.block_all([value], Stacked.PASSED_ON.reason("is spread into keyword arguments"), node, frame.module)


def as_taken(it: Interpreter, site: ast.expr, given: Given, node: ast.Call, frame: Frame) -> Given:
    """The arguments of a call of a map, where what it maps says how many a star stands for, and by which names."""
    if given.star is None and given.mapping is None:
        return given
    taken = _taken(it, site, node, frame)
    before = len(given.positional) - (given.star is not None)
    fits = taken is not None and set(given.named) <= {*taken.behind(before)}
    if taken is None or not fits or (taken.optional and given.mapping is not None):
        if given.mapping is not None:
            _block_spread(it, given.mapping, node, frame)
        return given
    if given.mapping is not None:
        return _by_name(it, given, taken.behind(before), node, frame)
    count = len(taken.names) - before - len({*given.named}.difference(taken.keywords))
    if given.star is None or count < 0:
        return given
    if taken.optional:
        if not it.trust.likely:
            return given
        says = f"`*{spread_in(node)}` gives {count} arguments, those for which the mapped function has no default"
        it.lean(given.everything(), Assumption("likely", "splits", "", says, frame.module, node))
    at = given.star
    spread = (given.positional[at],) * count
    positional = (*given.positional[:at], *spread, *given.positional[at + 1 :])
    return replace(given, positional=positional, open=False, star=None)


def spread_in(node: ast.Call) -> str:
    """What the star in a call spreads, as it is written."""
    return next((ast.unparse(one.value) for one in node.args if isinstance(one, ast.Starred)), "")


def _by_name(it: Interpreter, given: Given, names: list[str], node: ast.Call, frame: Frame) -> Given:
    """A tree of arrays spread by names: it is a mapping, and no object of the project's that looks at its arrays.

    What nothing in sight made gives arrays of which nothing else is known.
    """
    value = given.mapping
    if given.star is None and isinstance(value, Plain):
        rest: dict[str, Abstract] = {name: PLAIN for name in names if name not in given.named}
        return replace(given, named={**given.named, **rest}, open=False, mapping=None)
    own = any(class_index.is_method(it, name) for name in ("__getitem__", "keys"))
    if given.star is not None or not isinstance(value, Ref) or own:
        _block_spread(it, value or given.positional[0], node, frame)
        return given
    it.changed |= value.group.flatten()
    rest = {name: value.part() for name in names if name not in given.named}
    return replace(given, named={**given.named, **rest}, open=False, mapping=None)


def gives_all(it: Interpreter, site: ast.expr, given: Given, node: ast.Call, frame: Frame) -> bool:
    """Whether what a call spreads by name is given at every run of it: those are arguments that the map needs."""
    said = {keyword.arg for keyword in node.keywords}
    if None not in said or not set(given.named) - said:
        return True
    taken = _taken(it, site, node, frame)
    return taken is not None and not taken.optional and set(given.named) <= {*taken.behind(len(given.positional))}


class _Taken(NamedTuple):
    """The parameters that a mapped function needs, also those by keyword alone, and whether it takes others as well."""

    names: list[str]
    keywords: list[str]
    optional: bool

    def behind(self, count: int) -> list[str]:
        """Those that a call needs behind so many by position."""
        return [*self.names[count:], *self.keywords]


def _taken(it: Interpreter, site: ast.expr, node: ast.Call, frame: Frame) -> _Taken | None:
    """What each call of a map has to give; None where that is not known, or a call that gives others is handled."""
    it.reads.add(("site", site))
    function, bound = results.only_value(it, site), frozenset[str]()
    if isinstance(function, Partial) and function.is_by_name:
        bound = frozenset(argument.keyword or "" for argument in function.arguments)
        function = function.callee
    if not isinstance(function, Function) or is_tried(node, frame.module) or site in it.maps.bound_sites:
        return None
    if any(decorator is not site for decorator in getattr(function.node, "decorator_list", ())):
        return None
    spec, names = function.node.args, function.passed_names()
    if spec.posonlyargs or spec.vararg or spec.kwarg:
        return None
    needed = names[: len(names) - len(spec.defaults)]
    first = next((i for i, name in enumerate(needed) if name in bound), len(needed))
    if {*needed[first:]} - bound:
        return None
    pairs = zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
    keywords = [one.arg for one, default in pairs if default is None and one.arg not in bound]
    return _Taken(needed[:first], keywords, bool(spec.defaults) or any(one is not None for one in spec.kw_defaults))
