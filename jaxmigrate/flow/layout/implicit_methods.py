"""Methods that Python calls where no call is written: `for x in loader`, `next(loader)`, `loader[3]`.

What they give is followed as that of any method, as long as the objects go nowhere else: a library that is given a
loader may iterate over it, too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from jaxmigrate.flow.layout import class_index
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, Given
from jaxmigrate.flow.layout.values import (
    NOTHING,
    PLAIN,
    Abstract,
    Blocker,
    Dct,
    Func,
    Mixed,
    Nothing,
    Obj,
    Seq,
    Tup,
)
from jaxmigrate.program.library import named
from jaxmigrate.program.values import Function

ITERATES, NEXT, ITEM = "__iter__", "__next__", "__getitem__"
LOOKS = named("no-elements")


def element(it: Interpreter, owner: Obj, node: ast.expr, frame: Frame, *, following: bool = False) -> Abstract | None:
    """What iterating over an object gives, or, if it is the iterator, its next element; None where that is not seen."""
    name = NEXT if following else ITERATES
    made = call(it, owner, name, (), node, frame)
    if made is None or following:
        return made
    match made:
        case Seq(box=box):
            it.reads.add(("box", id(box)))
            return box.element
        case Obj():
            return element(it, made, node, frame, following=True)
        case Nothing():
            return NOTHING
    it.block_all([made], Stacked.READ_ON_HOST.reason("is iterated over"), node, frame.module)
    return PLAIN


def call(
    it: Interpreter, owner: Obj, name: str, given: tuple[Abstract, ...], node: ast.expr, frame: Frame
) -> Abstract | None:
    """What such a method of an object gives; None where no class in sight has it."""
    if not class_index.holders(it, owner.cls, name):
        return None
    method = it.transfers.method(it, owner.cls, name, node, frame)
    if isinstance(method, Nothing) and not it.final:
        return NOTHING
    functions = [item for item in method.items if isinstance(item, Function)] if isinstance(method, Func) else []
    if not isinstance(method, Func) or len(functions) < len(method.items):
        return None
    for function in functions:
        _note(it, owner, function)
    return it.call_value(method, Given(given, {}, sure=len(given)), node, frame)


def _note(it: Interpreter, owner: Obj, function: Function) -> None:
    """A method of objects of a class is called by Python: it may be wherever such an object goes."""
    if function in it.bodies.implicit:
        return
    it.bodies.implicit[function] = owner.cls
    blocker = it.blockers.blocked_classes.get(it.root(owner.cls)) or it.blockers.passed_on.get(it.root(owner.cls))
    if blocker is not None:
        it.call_unseen(function, blocker)


def pass_on(it: Interpreter, values: Iterable[Abstract], blocker: Blocker) -> None:
    """Objects go to code out of sight, which may iterate over them."""
    for value in values:
        for owner in _objects_in(value, set()):
            root = it.root(owner.cls)
            if root not in it.blockers.passed_on:
                it.blockers.passed_on[root] = blocker
                it.let_go_of_implicit(root, blocker)


def _objects_in(value: Abstract, seen: set[int]) -> Iterable[Obj]:
    match value:
        case Obj():
            yield value
        case Func(items=items):
            yield from (item for item in items if isinstance(item, Obj))
        case Tup(parts=parts) | Mixed(values=parts):
            for part in parts:
                yield from _objects_in(part, seen)
        case Seq(box=box) | Dct(box=box) if id(box) not in seen:
            seen.add(id(box))
            for inner in (box.element, *box.fields.values()):
                yield from _objects_in(inner, seen)
