"""What expressions of host code give, as far as stacked arrays are concerned."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jaxmigrate.flow.guards import is_tried
from jaxmigrate.flow.layout import (
    attributes,
    class_index,
    classes,
    frames,
    host_arithmetic,
    known_keys,
    module_names,
    operations,
    outcomes,
    phased_attributes,
    projections,
    read_only_copies,
    several_devices,
    spare_keys,
    texts,
    transient_attributes,
)
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.flow.layout.values import (
    NONE,
    NOTHING,
    NUMBER,
    PLAIN,
    Abstract,
    Dct,
    Ext,
    Func,
    Nothing,
    Obj,
    Plain,
    Ref,
    Seq,
    Tup,
    func,
    is_tracked,
)
from jaxmigrate.program.library import named
from jaxmigrate.program.values import Class, Function

OF_TYPES = named("of-types")
SHOWN = Stacked.READ_ON_HOST.reason("is shown as text")
DEEPEST_TUPLE = 5  # `head = (item, head)` in a loop goes on for ever
GENERIC = frozenset({"dict", "frozenset", "list", "set", "tuple", "type"})


def other(it: Interpreter, node: ast.expr, frame: Frame) -> Abstract:
    """An expression of a kind that is nothing but arithmetic on its parts."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            read = Stacked.READ_ON_HOST.reason("takes part in arithmetic on the host")
            read_only_copies.keep_read(it, [(it.evaluate(child, frame), child)], read, node, frame)
    return PLAIN


def _binary(it: Interpreter, node: ast.BinOp, frame: Frame) -> Abstract:
    """`a + b`: arithmetic on arrays, as far as it changes none of their axes."""
    if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
        return _percent(it, node, frame)
    if not isinstance(node.op, host_arithmetic.OPERATORS):
        return other(it, node, frame)
    operands = [(it.evaluate(one, frame), one) for one in (node.left, node.right)]
    computed = host_arithmetic.computed(it, operands, node, frame)
    return computed if computed is not None else _used(it, operands, node, frame)


def _percent(it: Interpreter, node: ast.BinOp, frame: Frame) -> Abstract:
    """`"loss %s" % x`: text."""
    parts = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
    for part in parts:
        texts.shown(it, it.evaluate(part, frame), part, SHOWN, node, frame)
    return PLAIN


def _used(it: Interpreter, operands: Sequence[tuple[Abstract, ast.expr]], node: ast.expr, frame: Frame) -> Abstract:
    """Values that take part in arithmetic which is not followed."""
    read = Stacked.READ_ON_HOST.reason("takes part in arithmetic on the host")
    read_only_copies.keep_read(it, operands, read, node, frame)
    return PLAIN


def _constant(_it: Interpreter, node: ast.Constant, _frame: Frame) -> Abstract:
    if isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return NUMBER
    return NONE if node.value is None else PLAIN


def _name(it: Interpreter, node: ast.Name, frame: Frame) -> Abstract:
    return frames.load_name(it, node.id, node, frame)


def _lambda(it: Interpreter, node: ast.Lambda, frame: Frame) -> Abstract:
    frames.capture(it, node, frame)
    for default in [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]:
        it.block_all(
            [it.evaluate(default, frame)], Stacked.PASSED_ON.reason("is a parameter's default"), default, frame.module
        )
    return func(Function(frame.module, node))


def _conditional(it: Interpreter, node: ast.IfExp, frame: Frame) -> Abstract:
    test(it, node.test, frame)
    assumed = outcomes.holds(it, node.test, frame)
    if assumed is not None:
        several_devices.pass_over(it, node, frame)
        return it.evaluate(node.body if assumed else node.orelse, frame)
    one, other = it.evaluate(node.body, frame), it.evaluate(node.orelse, frame)
    return it.join(one, other, node, frame.module)


def _walrus(it: Interpreter, node: ast.NamedExpr, frame: Frame) -> Abstract:
    result = it.evaluate(node.value, frame)
    frames.assign_name(it, node.target.id, result, node.target, frame)
    return result


def _set_comprehension(it: Interpreter, node: ast.SetComp, frame: Frame) -> Abstract:
    result = comprehension(it, node, frame)
    it.block_all([result], Stacked.READ_ON_HOST.reason("is put into a set"), node, frame.module)
    return result


def _starred(it: Interpreter, node: ast.Starred, frame: Frame) -> Abstract:
    result = it.evaluate(node.value, frame)
    it.block_all([result], Stacked.READ_ON_HOST.reason("is unpacked"), node, frame.module)
    return result


def _await(it: Interpreter, node: ast.Await, frame: Frame) -> Abstract:
    it.block_all([it.evaluate(node.value, frame)], Stacked.READ_ON_HOST.reason("is awaited"), node, frame.module)
    return PLAIN


def _yield(it: Interpreter, node: ast.Yield, frame: Frame) -> Abstract:
    _yielded(it, it.evaluate(node.value, frame) if node.value is not None else NOTHING, node, frame)
    return PLAIN


def _yield_from(it: Interpreter, node: ast.YieldFrom, frame: Frame) -> Abstract:
    _yielded(it, projections.element(it, it.evaluate(node.value, frame), node, frame), node, frame)
    return PLAIN


def _unary(it: Interpreter, node: ast.UnaryOp, frame: Frame) -> Abstract:
    if isinstance(node.op, ast.USub):
        operand = it.evaluate(node.operand, frame)
        computed = host_arithmetic.computed(it, [(operand, node.operand)], node, frame)
        return computed if computed is not None else _used(it, [(operand, node.operand)], node, frame)
    if not isinstance(node.op, ast.Not):
        return other(it, node, frame)
    test(it, node.operand, frame)
    return PLAIN


def _text(it: Interpreter, node: ast.JoinedStr, frame: Frame) -> Abstract:
    for value in node.values:
        it.evaluate(value, frame)
    return PLAIN


def _formatted(it: Interpreter, node: ast.FormattedValue, frame: Frame) -> Abstract:
    text = frame.module.table.parents.get(node)
    value = it.evaluate(node.value, frame)
    texts.shown(it, value, node.value, SHOWN, text if isinstance(text, ast.expr) else node, frame)
    if node.format_spec is not None:
        it.evaluate(node.format_spec, frame)
    return PLAIN


def test(it: Interpreter, node: ast.expr, frame: Frame) -> None:
    """A condition, of which only the truth is asked for."""
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            test(it, value, frame)
    else:
        tested(it, it.evaluate(node, frame), node, frame)


def tested(it: Interpreter, value: Abstract, node: ast.expr, frame: Frame) -> None:
    """A value whose truth is asked for.

    A tree of arrays that is no array alone is true in any layout or in none, and one array with a slice for each of
    several devices has no truth at all; what a class of the project says of its objects may depend on their shapes.
    """
    if not isinstance(value, Ref):
        return
    if (
        value.is_array
        or is_tried(node, frame.module)
        or any(classes.is_pytree(it, cls) for cls in class_index.measured(it))
    ):
        it.block_all([value], Stacked.READ_ON_HOST.reason("is used as a condition"), node, frame.module)


def _tuple(it: Interpreter, node: ast.Tuple, frame: Frame) -> Abstract:
    parts: list[Abstract] = []
    unknown: ast.expr | None = None  # where the length stops being known
    for one in node.elts:
        value = it.evaluate(one.value if isinstance(one, ast.Starred) else one, frame)
        if not isinstance(one, ast.Starred):
            parts.append(value)
        elif isinstance(value, Tup):
            parts += value.parts
        else:
            it.block_all([value], Stacked.READ_ON_HOST.reason("is unpacked into a tuple"), one, frame.module)
            unknown = unknown or one
    if unknown is not None:
        return _blocked(it, parts, unknown, frame)
    if max(map(_depth, parts), default=0) >= DEEPEST_TUPLE:
        return _blocked(it, parts, node.elts[0], frame)
    return Tup(tuple(parts))


def _depth(value: Abstract) -> int:
    """How many tuples lie within one another."""
    return 1 + max(map(_depth, value.parts), default=0) if isinstance(value, Tup) else 0


def _blocked(it: Interpreter, parts: Sequence[Abstract], node: ast.expr, frame: Frame) -> Abstract:
    it.block_all(parts, Stacked.MIXED.reason("is part of a tuple of unknown length"), node, frame.module)
    return PLAIN


def _list(it: Interpreter, node: ast.List | ast.Set, frame: Frame) -> Abstract:
    box = it.box(node, frame.context)
    for one in node.elts:
        if isinstance(one, ast.Starred):
            it.fill(box, projections.element(it, it.evaluate(one.value, frame), one, frame), one, frame.module)
        else:
            it.fill(box, it.evaluate(one, frame), one, frame.module)
    return Seq(box)


def _dict(it: Interpreter, node: ast.Dict, frame: Frame) -> Abstract:
    box = it.box(node, frame.context)
    for key, value in zip(node.keys, node.values, strict=True):
        result = it.evaluate(value, frame)
        if key is None:
            _spread(it, result, node, frame)
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            it.fill(box, result, value, frame.module, key.value)
        else:
            it.fill(box, result, value, frame.module, known_keys.text_of(it.evaluate(key, frame)))
    return Dct(box)


def _spread(it: Interpreter, value: Abstract, node: ast.Dict, frame: Frame) -> None:
    """`{**value}`."""
    box = it.box(node, frame.context)
    match value:
        case Dct(box=inner):
            it.fill(box, inner.element, node, frame.module)
            for name, one in list(inner.fields.items()):
                it.fill(box, one, node, frame.module, name)
        case Ref():
            it.changed |= value.group.flatten()
            it.fill(box, value.part(), node, frame.module)
        case Nothing():
            pass
        case _:
            it.block_all([value], Stacked.PASSED_ON.reason("is spread into a dictionary"), node, frame.module)
            it.fill(box, PLAIN, node, frame.module)


def _either(it: Interpreter, node: ast.BoolOp, frame: Frame) -> Abstract:
    """`a or b`, `a and b`: either; the truth of all but the last is asked for."""
    result: Abstract = NOTHING
    for index, value in enumerate(node.values):
        one = it.evaluate(value, frame)
        if index + 1 < len(node.values):
            tested(it, one, value, frame)
        result = it.join(result, one, node, frame.module)
    return result


def _compare(it: Interpreter, node: ast.Compare, frame: Frame) -> Abstract:
    operands = [node.left, *node.comparators]
    values = [it.evaluate(operand, frame) for operand in operands]
    if len(node.ops) == 1 and isinstance(node.ops[0], host_arithmetic.COMPARISONS):
        computed = host_arithmetic.computed(it, [*zip(values, operands, strict=True)], node, frame)
        if computed is not None:
            return computed
    identity = all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)
    nothing = any(isinstance(v, Nothing) for v in values)
    contained = all(isinstance(op, ast.In | ast.NotIn) for op in node.ops) and not is_tracked(values[0])
    if not (identity or nothing or contained):
        read = [(value, one) for value, one in zip(values, operands, strict=True) if not isinstance(value, Func | Obj)]
        read_only_copies.keep_read(it, read, Stacked.READ_ON_HOST.reason("is compared"), node, frame, exact=True)
    return PLAIN


def _yielded(it: Interpreter, value: Abstract, node: ast.expr, frame: Frame) -> None:
    if frame.function is None:
        it.block_all([value], Stacked.PASSED_ON.reason("is yielded outside of a function"), node, frame.module)
        return
    box = it.box("generator", frame.function.node)
    it.fill(box, value, node, frame.module)
    it.returned(frame.function.node, Seq(box), node, frame)


# Comprehensions


def _generator(it: Interpreter, node: ast.GeneratorExp | ast.ListComp, frame: Frame) -> Abstract:
    if (scope := frame.module.table.own_scope.get(node)) and module_names.is_late(scope, frame.module):
        frames.capture(it, node, frame)
    return comprehension(it, node, frame)


def comprehension(it: Interpreter, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, frame: Frame) -> Abstract:
    """A list or iterator of what its element expression gives."""
    box = it.box(node, frame.context)
    for _ in _rounds(it, node, node.generators, frame):
        it.fill(box, it.evaluate(node.elt, frame), node.elt, frame.module)
    return Seq(box)


def _rounds(it: Interpreter, node: ast.expr, generators: Sequence[ast.comprehension], frame: Frame) -> Iterator[None]:
    """Runs the generators of a comprehension for its elements, until what these assign has come round."""
    for _ in range(4 if any(isinstance(n, ast.NamedExpr) for n in ast.walk(node)) else 1):
        before = dict(frame.env or {})
        for _ in _generators(it, generators, frame):
            yield
            _restore(before, generators, frame)
            frame.env = it.join_env(before, frame.env, node, frame.module)


def _dict_comprehension(it: Interpreter, node: ast.DictComp, frame: Frame) -> Abstract:
    box = it.box(node, frame.context)
    for _ in _rounds(it, node, node.generators, frame):
        key = it.evaluate(node.key, frame)
        it.block_all([key], Stacked.READ_ON_HOST.reason("is a dictionary's key"), node.key, frame.module)
        it.fill(box, it.evaluate(node.value, frame), node.value, frame.module, known_keys.text_of(key))
    return Dct(box)


def _generators(it: Interpreter, generators: Sequence[ast.comprehension], frame: Frame) -> Iterator[None]:
    """Binds what generators give: once, or one after the other where one alone gives what is known."""
    for generator in generators:
        source = it.evaluate(generator.iter, frame)
        each = known_keys.in_turn(it, generator.target, generator.iter, source, frame) if len(generators) == 1 else []
        for one in each or [projections.element(it, source, generator.iter, frame, generator.iter)]:
            _bind(it, generator.target, one, frame)
            for condition in generator.ifs:
                test(it, condition, frame)
            if generator is generators[-1]:
                yield


def _bind(it: Interpreter, target: ast.expr, value: Abstract, frame: Frame) -> None:
    if isinstance(target, ast.Name):
        if frame.env is not None:
            frame.env[target.id] = value
        scope = frame.module.table.scope_of.get(target)
        if scope is not None:
            it.store(("variable", scope.node, target.id), value, target, frame.module)
    elif isinstance(target, ast.Tuple | ast.List):
        for one, part in zip(target.elts, projections.unpack(it, value, target.elts, target, frame), strict=True):
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
    owner = it.evaluate(node.value, frame)
    if frame.env is not None and (name := transient_attributes.name_of(node)) in frame.env:
        it.looks.loads.add(node)
        it.looks.run_reads.add(node)
        return it.settle(frame.env[name], node, frame.module)
    value = attributes.attribute_of(it, owner, node.attr, node, frame)
    single = isinstance(owner, Obj) and phased_attributes.holds_one(it, owner.cls, node, frame.module)
    if single is None and not it.final:
        return NOTHING
    return PLAIN if single and isinstance(value, Ref) else value


def _subscript(it: Interpreter, node: ast.Subscript, frame: Frame) -> Abstract:
    """`owner[index]`."""
    owner = it.evaluate(node.value, frame)
    index = it.evaluate(node.slice, frame)
    if isinstance(owner, Func) and all(_is_generic(it, item) for item in owner.items):
        return owner  # a type: `Callable[[State], Trainer]`
    it.block_all([index], Stacked.READ_ON_HOST.reason("is used as an index"), node, frame.module)
    if isinstance(owner, Dct) and index == NOTHING and not it.final:
        return NOTHING  # of a key that is not known yet
    if isinstance(owner, Plain) and spare_keys.left_of(it, node, frame.module):
        return operations.rows(it, node, frame)
    if not isinstance(owner, Ref | Nothing):
        operations.indexes_others(it, node, frame)
    return projections.item(it, owner, node, frame, known_keys.text_of(index))


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


TRANSFERS: dict[type[ast.expr], Callable[[Interpreter, Any, Frame], Abstract]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Set: _list,
    ast.Dict: _dict,
    ast.Lambda: _lambda,
    ast.IfExp: _conditional,
    ast.BoolOp: _either,
    ast.NamedExpr: _walrus,
    ast.ListComp: _generator,
    ast.GeneratorExp: _generator,
    ast.SetComp: _set_comprehension,
    ast.DictComp: _dict_comprehension,
    ast.Starred: _starred,
    ast.Await: _await,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.JoinedStr: _text,
    ast.FormattedValue: _formatted,
}
