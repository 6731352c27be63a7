"""Loops over keys that are written out, or over those of a dictionary that the program fills: they run once for each.

So `{k: out[k] for k in ("params", "opt")}` takes two entries, and not any of all that `out` holds.
"""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.flow.layout.values import NOTHING, Abstract, Dct, Nothing, Plain, Tup
from jaxmigrate.program.modules import Module
from jaxmigrate.program.values import Constant

MOST = 8  # keys: with more, the loop runs once for any of them
SAME_KEYS = frozenset({"list", "reversed", "sorted", "tuple"})


def in_turn(it: Interpreter, target: ast.expr, over: ast.expr, value: Abstract, frame: Frame) -> list[Abstract]:
    """What a loop gives its target, one after the other; nothing where that is not known.

    `value` is what it runs over.
    """
    match target, over:
        case ast.Tuple(elts=[_, _]), ast.Call(func=ast.Attribute(value=owner, attr="items"), args=[], keywords=[]):
            box = held.box if isinstance(held := it.evaluate(owner, frame), Dct) and _is_listed(held) else None
            pairs = [Tup((Plain(text=key), one)) for key, one in box.fields.items()] if box is not None else []
            return [*pairs] if len(pairs) <= MOST else []
        case ast.Name(), _:
            keys = _keys(it, over, value, frame)
            if keys == [] and not it.final:
                return [NOTHING]  # of a dictionary that may be filled yet
            return [Plain(text=key) for key in keys or ()] if len(keys or ()) <= MOST else []
    return []


def _keys(it: Interpreter, over: ast.expr, value: Abstract, frame: Frame) -> list[str] | None:
    """The keys that a loop runs over; None where they are not known."""
    if isinstance(value, Dct):
        return [*value.box.fields] if _is_listed(value) else None
    match over:
        case ast.Call(func=ast.Name(id=name) as called, args=[inner], keywords=[]) if name in SAME_KEYS:
            known = it.idioms.external(called, frame.module) == f"builtins.{name}"
            return _keys(it, inner, it.evaluate(inner, frame), frame) if known else None
        case ast.Call(func=ast.Attribute(value=inner, attr="keys"), args=[], keywords=[]):
            owner = it.evaluate(inner, frame)
            return _keys(it, inner, owner, frame) if isinstance(owner, Dct) else None
    return _written(it, over, frame.module)


def _is_listed(value: Dct) -> bool:
    """Whether all keys of a dictionary are known: nothing out of sight, and no name that is not known, adds others."""
    box = value.box
    return isinstance(box.element, Nothing) and box.blocked is None and box.tree is None


def _written(it: Interpreter, over: ast.expr, module: Module) -> list[str] | None:
    """The strings that a tuple or list is written out of."""
    if isinstance(over, ast.Tuple | ast.List):
        found = [one.value for one in over.elts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        return found if found and len(found) == len(over.elts) else None
    known = it.resolver.value(over, module) if isinstance(over, ast.Name | ast.Attribute) else None
    match known:
        case Constant(value=tuple() as texts) if texts and all(isinstance(one, str) for one in texts):
            return [*texts]
    return None


def text_of(value: Abstract) -> str | None:
    """The string that a value is known to be."""
    return value.text if isinstance(value, Plain) else None
