"""Objects with fields, as training states are, of which some fields stay stacked and the others become global."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.flow.layout import class_index, classes, mapped_bodies
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.program.library import valued
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.values import Class, External, Function

REPLACES = frozenset({"replace", "_replace"})
APPLIES = "apply_gradients"
MAKES_ANOTHER = REPLACES | {"create"}  # of flax's TrainState
COPIED_BY = valued("copied-by")
NO_ARRAYS, ARRAYS = frozenset({"apply_fn", "tx"}), frozenset({"step", "params", "opt_state"})  # of flax's TrainState
LEARNED = re.compile(  # of the fields of a training state, what an optimiser changes or counts
    r"(?:^|_)(?:count|emas?|momenta?|momentum|mu|nu|opts?|optimizers?|params?|parameters|steps?|target|theta|weights)"
    r"(?:_|\d*$)"
)
STATIC_MARKS = frozenset({"pytree_node", "static", "metadata"})


def copied_by(it: Interpreter, site: ast.expr, index: int, count: int) -> set[str]:
    """How a mapped function, or the class that it names, copies one of its `count` arguments; empty if unknown."""
    function, name = _parameter(it, site, index, count)
    if function is None:
        return set()
    found = {method for method in REPLACES if _has_called(function.node, name, method)}
    if not found and not class_index.is_method(it, APPLIES) and _has_called(function.node, name, APPLIES):
        return {"replace"}  # flax's TrainState, as variance takes it
    kinds = [*_classes(it, function, name), *_made_anew(it, function, name)]
    if index == 0 and site in it.maps.methods:
        kinds.append(it.maps.methods[site])
    return found | {COPIED_BY[mark] for cls in kinds for mark in _marks(it, cls)}


def _has_called(function: FunctionNode, name: str, method: str) -> bool:
    """Whether a function calls a method of what it has under a name."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == method
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == name
        for node in ast.walk(function)
    )


def is_learned(field: str) -> bool:
    """Whether a field of a training state, by its name, is what an optimiser changes or counts."""
    return LEARNED.search(field.lower()) is not None


def may_be_static(it: Interpreter, field: str) -> bool:
    """Whether a field may be no array but a part of its object's type, for all that classes in sight say.

    Of a class out of sight a reader takes the parameters and their like for arrays; others could not be stacked.
    """
    lines = class_index.declarations(it, field)
    known = bool(lines) or field in ARRAYS or (it.trust.likely and is_learned(field))
    if field in NO_ARRAYS or not known:
        return True
    calls = [line.value for line in lines if isinstance(line.value, ast.Call)]
    return any(_makes_static(keyword) for call in calls for keyword in call.keywords)


def holding_defaults(it: Interpreter, cls: Class) -> Iterator[str]:
    """The fields of a class that hold arrays, for all that is known, where its constructor is not given them."""
    for line in it.resolver.declarations(cls):
        value = line.value
        keywords = value.keywords if isinstance(value, ast.Call) else []
        if value is None or isinstance(value, ast.Constant) or any(map(_makes_static, keywords)):
            continue
        if isinstance(line.target, ast.Name) and not any(map(_makes_nothing, keywords)):
            yield line.target.id


def _makes_nothing(keyword: ast.keyword) -> bool:
    """Whether a keyword of a field's declaration makes it an empty container, or None: `default_factory=dict`."""
    empty = isinstance(keyword.value, ast.Name) and keyword.value.id in ("dict", "list", "tuple")
    none = isinstance(keyword.value, ast.Constant)
    return (keyword.arg == "default_factory" and empty) or (keyword.arg == "default" and none)


def _makes_static(keyword: ast.keyword) -> bool:
    """Whether a keyword of a field's declaration may make it a part of the type: `pytree_node=False`."""
    said = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
    dynamic = (keyword.arg == "pytree_node" and said is True) or (keyword.arg == "static" and said is False)
    return keyword.arg in STATIC_MARKS and not dynamic


def _parameter(it: Interpreter, site: ast.expr, index: int, count: int) -> tuple[Function | None, str]:
    """The function that a site maps and the name of its parameter that an argument becomes."""
    function = mapped_bodies.mapped_function(it, site)
    names = mapped_bodies.parameters(it, site, function, count) if function is not None else {}
    return (function, names[index]) if index in names else (None, "")


def _classes(it: Interpreter, function: Function, name: str) -> list[Class | External]:
    """What a parameter's annotation names."""
    spec = function.node.args
    for parameter in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
        if parameter.arg == name and isinstance(parameter.annotation, ast.Name | ast.Attribute):
            values = it.resolver.values(parameter.annotation, function.module)
            return [v for v in values if isinstance(v, Class | External)]
    return []


def _made_anew(it: Interpreter, function: Function, name: str) -> list[Class]:
    """The class of which a function makes a new object that takes the place of a parameter: `state = State(...)`."""
    calls = [
        node.value.func
        for node in ast.walk(function.node)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
        and node.value.func in function.module.table.scope_of
    ]
    values = [it.resolver.value(call, function.module) for call in calls]
    return [value for value in values if isinstance(value, Class)]


def _marks(it: Interpreter, cls: Class | External) -> set[str]:
    """Which of the known kinds of objects a class is."""
    if isinstance(cls, External):
        return {cls.name} & set(COPIED_BY)
    values = [it.resolver.value(mark, module) for mark, module in classes.marks_of(it, cls)]
    return {value.name for value in values if isinstance(value, External)} & set(COPIED_BY)
