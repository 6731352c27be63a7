"""Classes of the program and their objects: plain ones, dataclasses and named tuples."""

from __future__ import annotations

import ast

from jaxmigrate.flow.shapes.running import Run
from jaxmigrate.flow.shapes.values import UNKNOWN, Class, Closure, Frame, Given, Made, Object, Thing
from jaxmigrate.program.syntax import last_name

CACHED = ("property", "cached_property")
FIELDS = ("dataclass", "NamedTuple")


def define(run: Run, node: ast.ClassDef, frame: Frame) -> Thing:
    """What a class statement makes; UNKNOWN where a base, a metaclass or a decorator may change what it does."""
    bases = [last_name(one) for one in node.bases]
    decorators = [last_name(one.func if isinstance(one, ast.Call) else one) for one in node.decorator_list]
    if node.keywords or any(one not in (*FIELDS, "object") for one in bases) or set(decorators) - {"dataclass"}:
        return UNKNOWN
    has_fields = any(one in FIELDS for one in (*bases, *decorators))
    inner = Frame(frame.module, frame)
    for statement in node.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            run.run([statement], inner)
    methods = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
    fields = [one.target.id for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    return Class(node, frame, inner.names, methods, fields if has_fields else None)


def make(run: Run, cls: Class, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    """An object of a class."""
    made = Object(cls, {})
    if "__init__" in cls.methods:
        if "__new__" in cls.methods:
            return UNKNOWN
        run.call(_bound(cls.methods["__init__"], made), given, node, frame)
        return made
    if cls.fields is None:
        return made if not given.positional and not given.named else UNKNOWN
    made.content.update(zip(cls.fields, given.positional, strict=False))
    made.content.update(given.named)
    for name in cls.fields:
        default = cls.names.get(name, UNKNOWN)
        made.content.setdefault(name, UNKNOWN if type(default) in (list, dict) else default)
    if "__post_init__" in cls.methods:
        run.call(_bound(cls.methods["__post_init__"], made), Given((), {}), node, frame)
    return made


def attribute(run: Run, held: Object, name: str, frame: Frame) -> Thing:
    """What an object, or its class, has under a name."""
    if name in held.content:
        return held.content[name]
    method = held.cls.methods.get(name)
    if method is None:
        return held.cls.names.get(name, UNKNOWN)
    kinds = [last_name(one.func if isinstance(one, ast.Call) else one) for one in method.decorator_list]
    if kinds == ["staticmethod"]:
        return Closure(method, held.cls.frame)
    if kinds and kinds[0] in CACHED and len(kinds) == 1:
        return run.call(_bound(method, held), Given((), {}), None, frame)
    made: Thing = Closure(method, held.cls.frame)
    for decorator in reversed(method.decorator_list):
        made = run.call(run.evaluate(decorator, held.cls.frame), Given((made,), {}), decorator, held.cls.frame)
    plain = isinstance(made, Closure)
    return Made("partial", made, Given((held,), {})) if plain else UNKNOWN


def call(run: Run, held: Object, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    """What calling an object gives."""
    method = held.cls.methods.get("__call__")
    return run.call(_bound(method, held), given, node, frame) if method is not None else UNKNOWN


def _bound(method: ast.FunctionDef, held: Object) -> Made:
    return Made("partial", Closure(method, held.cls.frame), Given((held,), {}))
