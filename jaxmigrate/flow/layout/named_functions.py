"""Named tuples of functions, `Optimizer(init, step)`: of what stands under each name, the calls are in sight."""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout import classes
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Given
from jaxmigrate.flow.layout.shape_texts import is_none
from jaxmigrate.flow.layout.values import NONE, PLAIN, Abstract, Tup
from jaxmigrate.program.scopes import is_docstring
from jaxmigrate.program.values import Class

UNSEEN = Stacked.PASSED_ON.reason("is passed to a constructor that fix cannot follow")


def tuple_of(it: Interpreter, cls: Class, given: Given) -> Tup | None:
    """What a named tuple holds under each name; None where its class says more, or a star hides something."""
    lines = it.resolver.declarations(cls)
    names = tuple(line.target.id for line in lines if isinstance(line.target, ast.Name))
    plain = all(isinstance(one, ast.AnnAssign | ast.Pass) or is_docstring(one) for one in cls.node.body)
    if not (plain and classes.is_named_tuple(it, cls)) or cls.node.decorator_list or len({*names}) < len(lines):
        return None
    if given.open or given.mapping is not None or len(given.positional) > len(names):
        return None
    held: dict[str, Abstract] = {**dict(zip(names, given.positional, strict=False)), **given.named}
    for line in lines:
        if isinstance(line.target, ast.Name) and line.target.id not in held:
            if not isinstance(line.value, ast.Constant):
                return None
            held[line.target.id] = NONE if is_none(line.value) else PLAIN
    return Tup(tuple(held[name] for name in names), names) if set(held) == {*names} else None
