"""Objects that calls of classes make: trees of arrays, and those whose attributes are followed by class."""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout import classes, named_functions, objects, projections
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, Given
from jaxmigrate.flow.layout.values import NOTHING, PLAIN, Abstract, Func, Nothing, Obj, Plain, Ref, is_tracked
from jaxmigrate.program.values import Class, Function, Instance


def construct(it: Interpreter, cls: Class, given: Given, node: ast.expr, frame: Frame) -> Abstract:
    """Makes an object: a tree of arrays, or one whose attributes are followed by class."""
    it.join_module(cls.module)
    if classes.is_pytree(it, cls):
        return _record(it, cls, given, node, frame)
    owner = Obj(cls)
    for one in it.resolver.lineage(cls):
        for binding in one.module.table.own_scope[one.node].bindings.get("__init__", []):
            if isinstance(binding.node, ast.FunctionDef):
                it.call_function(Function(one.module, binding.node, Instance(cls)), given, node, frame)
                return owner
    if given.positional or given.named:
        _dataclass_fields(it, cls, given, node, frame)
    return owner


def _record(it: Interpreter, cls: Class, given: Given, node: ast.expr, frame: Frame) -> Abstract:
    """A tree of arrays with fields: each holds what it is given, where that can be told."""
    values = given.everything()
    awaited = any(isinstance(value, Nothing) and not value.none for value in values) and not it.final
    held_functions = [value for value in values if isinstance(value, Func)]
    if held_functions:
        made = named_functions.tuple_of(it, cls, given)
        if made is not None:
            return NOTHING if awaited else made
        it.block_all(held_functions, named_functions.UNSEEN, node, frame.module)
    if not any(map(is_tracked, values)):
        return NOTHING if awaited else Plain(cls)
    names = it.resolver.declared_fields(cls)
    own = any("__init__" in one.module.table.own_scope[one.node].bindings for one in it.resolver.lineage(cls))
    if own or given.open or len(given.positional) > len(names) or not set(given.named) <= set(names):
        return projections.one_group(it, values, node, frame)
    named = {**dict(zip(names, given.positional, strict=False)), **given.named}
    held = {name: value for name, value in named.items() if not isinstance(value, Func)}
    it.note_record(node, cls)
    held |= {name: PLAIN for name in objects.holding_defaults(it, cls) if name not in named}
    return projections.with_fields(it, Ref(it.joined_group("record", node)), held, node, frame)


def _dataclass_fields(it: Interpreter, cls: Class, given: Given, node: ast.expr, frame: Frame) -> None:
    """The generated constructor of a dataclass; of anything else what it does is not known."""
    annotated = [s.target.id for s in cls.node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)]
    marks = {ast.unparse(d.func if isinstance(d, ast.Call) else d) for d in cls.node.decorator_list}
    is_record = any(mark.rpartition(".")[2] == "dataclass" for mark in marks) and len(given.positional) <= len(
        annotated
    )
    if not is_record or given.open or len(it.resolver.lineage(cls)) > 1 or classes.foreign_base(it, cls):
        it.block_all(
            given.everything(),
            Stacked.PASSED_ON.reason("is passed to a constructor that fix cannot follow"),
            node,
            frame.module,
        )
        return
    values = dict(zip(annotated, given.positional, strict=False)) | dict(given.named)
    for name, value in values.items():
        it.set_attribute(cls, name, value, node, frame.module)
