"""Functions that a program replaces while it runs: `Model.scale = other`, `setattr(helpers, "scale", other)`.

What devices run is read from the source, where a name stands for what is defined there. Where a program may put
something else in its place, nothing that it computes is proven.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxmigrate.flow.layout import survey
from jaxmigrate.flow.layout.values import (
    Abstract,
    Bound,
    Ext,
    Func,
    Method,
    MethodSite,
    Mixed,
    Mod,
    Obj,
    Pin,
    Site,
)
from jaxmigrate.flow.variance.library import change
from jaxmigrate.program.values import Class, Function

if TYPE_CHECKING:
    from jaxmigrate.flow.layout.frames import Frame
    from jaxmigrate.flow.layout.interpreter import Interpreter
    from jaxmigrate.flow.layout.state import Given

TOLD = frozenset({"__doc__", "__name__", "__qualname__"})  # what a function says of itself, and does not depend on
INTERPRETED = frozenset(  # the libraries whose functions are known by name
    {"builtins", "chex", "collections", "contextlib", "copy", "dataclasses", "flax", "functools", "itertools", "jax"}
    | {"jaxlib", "numpy", "operator", "threading", "tqdm", "tree"}
)
PATCHES = ("unittest.mock.patch", "mock.patch", "pytest.MonkeyPatch")
SETS = frozenset({"setattr", "__setattr__"})


def note_stored(it: Interpreter, owner: Abstract, name: str, value: Abstract, node: ast.AST, frame: Frame) -> None:
    """An attribute of something is set: of the project's own what may have been a function, or becomes one."""
    for item in owner.in_order() if isinstance(owner, Func) else (owner,):
        match item:
            case Class():
                bindings = [b for one in survey.family(it, it.root(item)) for b in _bindings(one, name)]
                replaces = any(b in ("def", "class") for b in bindings) or (bool(bindings) and _has_function(value))
            case Mod(module=module):
                kinds = [b.kind for b in module.table.root.bindings.get(name, [])]
                replaces = any(k in ("def", "class") for k in kinds) or (bool(kinds) and _has_function(value))
            case Ext() | Function() | Site() | MethodSite() | Bound() | Method():
                _in_library(it, item, name, node, frame)
                continue
            case Obj():  # which is followed
                continue
            case _:
                replaces = _has_function(value) and survey.is_method(it, name)
        if replaces:
            _note(it, f"may depend on {name}, which is replaced", node, frame)


def note_call(it: Interpreter, name: str, given: Given, node: ast.expr, frame: Frame) -> None:
    """A call that sets an attribute by its name, or lets a test put something in a function's place."""
    values = given.everything()
    if name.startswith(PATCHES):
        _note(it, "may depend on a function that is replaced", node, frame)
    if name.rpartition(".")[2] not in SETS or len(values) < 3:
        return
    owner, value = values[-3], values[-1]
    key = node.args[-2] if isinstance(node, ast.Call) and len(node.args) >= 3 else None
    known = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
    of_project = isinstance(owner, Func) and any(isinstance(item, Class | Mod) for item in owner.items)
    if known is not None and not isinstance(owner, Obj):
        note_stored(it, owner, known, value, node, frame)
    elif _has_function(value) or (known is None and of_project) or (known is not None and survey.is_method(it, known)):
        _note(it, f"may depend on {known or 'a function'}, which is replaced", node, frame)


def _bindings(cls: Class, name: str) -> list[str]:
    return [b.kind for b in cls.module.table.own_scope[cls.node].bindings.get(name, [])]


def _has_function(value: Abstract) -> bool:
    """Whether a value may be a function."""
    if isinstance(value, Mixed):
        return any(map(_has_function, value.values))
    return isinstance(value, Func) and not all(
        isinstance(item, Mod | Class) or (isinstance(item, Ext) and not item.name.startswith("jax.lax."))
        for item in value.items
    )


def _in_library(it: Interpreter, item: object, name: str, node: ast.AST, frame: Frame) -> None:
    """Sets an attribute of something outside the project: what goes by that name is not what it was."""
    if isinstance(item, Function) and (not name.startswith("__") or name in TOLD):
        return  # a note on a function of the project, which runs as before
    if isinstance(item, Ext) and item.name.partition(".")[0] not in INTERPRETED:
        change(it.resolver, f"{item.name}.{name}")
    else:
        _note(it, "may depend on a library that is changed", node, frame)


def _note(it: Interpreter, reason: str, node: ast.AST, frame: Frame) -> None:
    it.beyond.setdefault(node, Pin(reason, frame.module, node))
