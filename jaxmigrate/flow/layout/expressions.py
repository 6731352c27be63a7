"""What expressions of host code give, as far as stacked arrays are concerned."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from jaxmigrate.flow.guards import is_tried
from jaxmigrate.flow.layout import attributes, calls, classes, frames, module_names, passing, pieces, survey
from jaxmigrate.flow.layout.values import (
    NONE,
    NOTHING,
    PLAIN,
    Abstract,
    Dct,
    Ext,
    Func,
    Nothing,
    Obj,
    Ref,
    Seq,
    Tup,
    boxes_in,
    func,
    is_tracked,
)
from jaxmigrate.program.library import named
from jaxmigrate.program.values import Class, Function

OF_TYPES = named("of-types")
DEEPEST_TUPLE = 5  # `head = (item, head)` in a loop goes on for ever
GENERIC = frozenset({"dict", "frozenset", "list", "set", "tuple", "type"})

if TYPE_CHECKING:
    from jaxmigrate.flow.layout.frames import Frame
    from jaxmigrate.flow.layout.interpreter import Interpreter


def evaluate(it: Interpreter, node: ast.expr, frame: Frame) -> Abstract:
    """The value of an expression; what it does to variables is done.

    What has had no value when nothing changed any more comes about in a way that fix cannot follow.
    """
    value = _evaluate(it, node, frame)
    if isinstance(value, Seq | Dct | Tup):
        it.reads.update(("box", id(box)) for box in boxes_in(value))
    return PLAIN if it.final and value == NOTHING and not isinstance(node, ast.Name) else value


def _evaluate(it: Interpreter, node: ast.expr, frame: Frame) -> Abstract:  # noqa: C901 - one case a kind of expression
    match node:
        case ast.Constant(value=value):
            return NONE if value is None else PLAIN
        case ast.Name(id=name):
            return frames.load_name(it, name, node, frame)
        case ast.Call():
            return calls.call(it, node, frame)
        case ast.Attribute():
            return _attribute(it, node, frame)
        case ast.Subscript():
            return _subscript(it, node, frame)
        case ast.Tuple(elts=elements):
            return _tuple(it, elements, frame)
        case ast.List(elts=elements) | ast.Set(elts=elements):
            return _list(it, elements, node, frame)
        case ast.Dict():
            return _dict(it, node, frame)
        case ast.Lambda():
            frames.capture(it, node, frame)
            for default in [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]:
                it.pin_all([evaluate(it, default, frame)], "is a parameter's default", default, frame.module)
            return func(Function(frame.module, node))
        case ast.IfExp(test=condition, body=body, orelse=orelse):
            test(it, condition, frame)
            one, other = evaluate(it, body, frame), evaluate(it, orelse, frame)
            return it.join(one, other, node, frame.module)
        case ast.BoolOp(values=values):
            return _either(it, values, node, frame)
        case ast.NamedExpr(target=target, value=value):
            result = evaluate(it, value, frame)
            frames.assign_name(it, target.id, result, target, frame)
            return result
        case ast.ListComp(elt=elt, generators=generators) | ast.GeneratorExp(elt=elt, generators=generators):
            if (scope := frame.module.table.own_scope.get(node)) and module_names.is_late(scope, frame.module):
                frames.capture(it, node, frame)
            return comprehension(it, node, elt, generators, frame)
        case ast.SetComp(elt=elt, generators=generators):
            result = comprehension(it, node, elt, generators, frame)
            it.pin_all([result], "is put into a set", node, frame.module)
            return result
        case ast.DictComp(key=key, value=value, generators=generators):
            return _dict_comprehension(it, node, key, value, generators, frame)
        case ast.Starred(value=value) | ast.Await(value=value):
            result = evaluate(it, value, frame)
            it.pin_all([result], "is awaited" if isinstance(node, ast.Await) else "is unpacked", node, frame.module)
            return result if isinstance(node, ast.Starred) else PLAIN
        case ast.Yield(value=value):
            return _yield(it, value, node, frame)
        case ast.YieldFrom(value=value):
            _yielded(it, pieces.element(it, evaluate(it, value, frame), node, frame), node, frame)
            return PLAIN
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            test(it, operand, frame)
            return PLAIN
        case ast.Compare():
            return _compare(it, node, frame)
        case ast.JoinedStr(values=values):
            for value in values:
                evaluate(it, value, frame)
            return PLAIN
        case ast.FormattedValue(value=value, format_spec=spec):
            it.pin_all([evaluate(it, value, frame)], "is shown as text", node, frame.module)
            if spec is not None:
                evaluate(it, spec, frame)
            return PLAIN
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            it.pin_all([evaluate(it, child, frame)], "takes part in arithmetic on the host", node, frame.module)
    return PLAIN


def test(it: Interpreter, node: ast.expr, frame: Frame) -> None:
    """A condition, of which only the truth is asked for."""
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            test(it, value, frame)
    else:
        tested(it, evaluate(it, node, frame), node, frame)


def tested(it: Interpreter, value: Abstract, node: ast.expr, frame: Frame) -> None:
    """A value whose truth is asked for.

    A tree of arrays that is no array alone is true in any layout or in none, and one array with a slice for each of
    several devices has no truth at all; what a class of the project says of its objects may depend on their shapes.
    """
    if not isinstance(value, Ref):
        return
    if value.is_array or is_tried(node, frame.module) or any(classes.is_pytree(it, cls) for cls in survey.measured(it)):
        it.pin_all([value], "is used as a condition", node, frame.module)


def _tuple(it: Interpreter, elements: Sequence[ast.expr], frame: Frame) -> Abstract:
    parts: list[Abstract] = []
    unknown: ast.expr | None = None  # where the length stops being known
    for one in elements:
        value = evaluate(it, one.value if isinstance(one, ast.Starred) else one, frame)
        if not isinstance(one, ast.Starred):
            parts.append(value)
        elif isinstance(value, Tup):
            parts += value.parts
        else:
            it.pin_all([value], "is unpacked into a tuple", one, frame.module)
            unknown = unknown or one
    if unknown is not None:
        return _pinned(it, parts, unknown, frame)
    if max(map(_depth, parts), default=0) >= DEEPEST_TUPLE:
        return _pinned(it, parts, elements[0], frame)
    return Tup(tuple(parts))


def _depth(value: Abstract) -> int:
    """How many tuples lie within one another."""
    return 1 + max(map(_depth, value.parts), default=0) if isinstance(value, Tup) else 0


def _pinned(it: Interpreter, parts: Sequence[Abstract], node: ast.expr, frame: Frame) -> Abstract:
    it.pin_all(parts, "is part of a tuple of unknown length", node, frame.module)
    return PLAIN


def _list(it: Interpreter, elements: Sequence[ast.expr], node: ast.expr, frame: Frame) -> Abstract:
    box = it.box(node)
    for one in elements:
        if isinstance(one, ast.Starred):
            it.fill(box, pieces.element(it, evaluate(it, one.value, frame), one, frame), one, frame.module)
        else:
            it.fill(box, evaluate(it, one, frame), one, frame.module)
    return Seq(box)


def _dict(it: Interpreter, node: ast.Dict, frame: Frame) -> Abstract:
    box = it.box(node)
    for key, value in zip(node.keys, node.values, strict=True):
        result = evaluate(it, value, frame)
        if key is None:
            _spread(it, result, node, frame)
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            it.fill(box, result, value, frame.module, key.value)
        else:
            evaluate(it, key, frame)
            it.fill(box, result, value, frame.module)
    return Dct(box)


def _spread(it: Interpreter, value: Abstract, node: ast.Dict, frame: Frame) -> None:
    """`{**value}`."""
    box = it.box(node)
    match value:
        case Dct(box=inner):
            it.fill(box, inner.element, node, frame.module)
            for name, one in list(inner.fields.items()):
                it.fill(box, one, node, frame.module, name)
        case Ref():
            it.changed |= value.cell.flatten()
            it.fill(box, Ref(value.cell), node, frame.module)
        case Nothing():
            pass
        case _:
            it.pin_all([value], "is spread into a dictionary", node, frame.module)
            it.fill(box, PLAIN, node, frame.module)


def _either(it: Interpreter, values: Sequence[ast.expr], node: ast.expr, frame: Frame) -> Abstract:
    """`a or b`, `a and b`: either; the truth of all but the last is asked for."""
    result: Abstract = NOTHING
    for index, value in enumerate(values):
        one = evaluate(it, value, frame)
        if index + 1 < len(values):
            tested(it, one, value, frame)
        result = it.join(result, one, node, frame.module)
    return result


def _compare(it: Interpreter, node: ast.Compare, frame: Frame) -> Abstract:
    operands = [node.left, *node.comparators]
    values = [evaluate(it, operand, frame) for operand in operands]
    identity = all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)
    nothing = any(isinstance(v, Nothing) for v in values)
    contained = all(isinstance(op, ast.In | ast.NotIn) for op in node.ops) and not is_tracked(values[0])
    if not (identity or nothing or contained):
        it.pin_all([v for v in values if not isinstance(v, Func | Obj)], "is compared", node, frame.module)
    return PLAIN


def _yield(it: Interpreter, value: ast.expr | None, node: ast.expr, frame: Frame) -> Abstract:
    _yielded(it, evaluate(it, value, frame) if value is not None else NOTHING, node, frame)
    return PLAIN


def _yielded(it: Interpreter, value: Abstract, node: ast.expr, frame: Frame) -> None:
    if frame.function is None:
        it.pin_all([value], "is yielded outside of a function", node, frame.module)
        return
    box = it.box("generator", frame.function.node)
    it.fill(box, value, node, frame.module)
    it.returned(frame.function.node, Seq(box), node, frame)


# Comprehensions


def comprehension(
    it: Interpreter, node: ast.expr, elt: ast.expr, generators: Sequence[ast.comprehension], frame: Frame
) -> Abstract:
    """A list or iterator of what its element expression gives."""
    box = it.box(node)
    for _ in _rounds(it, node, generators, frame):
        it.fill(box, evaluate(it, elt, frame), elt, frame.module)
    return Seq(box)


def _rounds(it: Interpreter, node: ast.expr, generators: Sequence[ast.comprehension], frame: Frame) -> Iterator[None]:
    """Runs the generators of a comprehension for its elements, until what these assign has come round."""
    for _ in range(4 if any(isinstance(n, ast.NamedExpr) for n in ast.walk(node)) else 1):
        before = dict(frame.env or {})
        _generators(it, generators, frame)
        yield
        _restore(before, generators, frame)
        frame.env = it.join_env(before, frame.env, node, frame.module)


def _dict_comprehension(
    it: Interpreter,
    node: ast.expr,
    key: ast.expr,
    value: ast.expr,
    generators: Sequence[ast.comprehension],
    frame: Frame,
) -> Abstract:
    box = it.box(node)
    for _ in _rounds(it, node, generators, frame):
        it.pin_all([evaluate(it, key, frame)], "is a dictionary's key", key, frame.module)
        it.fill(box, evaluate(it, value, frame), value, frame.module)
    return Dct(box)


def _generators(it: Interpreter, generators: Sequence[ast.comprehension], frame: Frame) -> None:
    for generator in generators:
        source = evaluate(it, generator.iter, frame)
        _bind(it, generator.target, pieces.element(it, source, generator.iter, frame), frame)
        for condition in generator.ifs:
            test(it, condition, frame)


def _bind(it: Interpreter, target: ast.expr, value: Abstract, frame: Frame) -> None:
    if isinstance(target, ast.Name):
        if frame.env is not None:
            frame.env[target.id] = value
        scope = frame.module.table.scope_of.get(target)
        if scope is not None:
            it.store(("variable", scope.node, target.id), value, target, frame.module)
    elif isinstance(target, ast.Tuple | ast.List):
        for one, part in zip(target.elts, pieces.unpack(it, value, target.elts, target, frame), strict=True):
            _bind(it, one, part, frame)
    else:
        it.assign(target, value, target, frame)


def _restore(before: dict[str, Abstract], generators: Sequence[ast.comprehension], frame: Frame) -> None:
    names = {n.id for g in generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    if frame.env is not None:
        for name in names:
            frame.env.pop(name, None)
            if name in before:
                frame.env[name] = before[name]


def _attribute(it: Interpreter, node: ast.Attribute, frame: Frame) -> Abstract:
    """`owner.name`."""
    owner = evaluate(it, node.value, frame)
    if frame.env is not None and (name := passing.name_of(node)) in frame.env:
        it.loads.add(node)
        it.run_reads.add(node)
        return it.settle(frame.env[name], node, frame.module)
    return attributes.attribute_of(it, owner, node.attr, node, frame)


def _subscript(it: Interpreter, node: ast.Subscript, frame: Frame) -> Abstract:
    """`owner[index]`."""
    owner = evaluate(it, node.value, frame)
    index = evaluate(it, node.slice, frame)
    if isinstance(owner, Func) and all(_is_generic(it, item) for item in owner.items):
        return owner  # a type: `Callable[[State], Trainer]`
    it.pin_all([index], "is used as an index", node, frame.module)
    return pieces.item(it, owner, node, frame)


def _is_generic(it: Interpreter, item: object) -> bool:
    """Whether subscripting something only gives a type, of which the index is a part."""
    if isinstance(item, Ext):
        module, _, name = item.name.rpartition(".")
        return module in OF_TYPES or (module == "builtins" and name in GENERIC)
    if not isinstance(item, Class):
        return False
    line = it.resolver.lineage(item)
    defined = any("__class_getitem__" in c.module.table.own_scope[c.node].bindings or c.node.keywords for c in line)
    return not defined and any(isinstance(base, ast.Subscript) for c in line for base in c.node.bases)
