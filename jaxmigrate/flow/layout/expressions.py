"""What expressions of host code give, as far as stacked arrays are concerned."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from jaxmigrate.flow.layout import calls, devices, frames, module_names, operations, survey
from jaxmigrate.flow.layout.objects import REPLACES, marks_of
from jaxmigrate.flow.layout.values import (
    NONE,
    NOTHING,
    PLAIN,
    Abstract,
    Cell,
    Dct,
    Ext,
    Func,
    Method,
    Mod,
    Nothing,
    Obj,
    Plain,
    Ref,
    Seq,
    Tup,
    boxes_in,
    func,
    is_tracked,
    leaves_plain,
)
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import canonical, is_static
from jaxmigrate.program.values import Class, External, Function, Instance

if TYPE_CHECKING:
    from jaxmigrate.flow.layout.frames import Frame
    from jaxmigrate.flow.layout.interpreter import Interpreter

MIXED_TREE = "is part of a tree whose other arrays are not known to be stacked"
MAKES_ANOTHER = REPLACES | {"create"}  # of flax's TrainState
ARRAY_ATTRIBUTES = frozenset(
    {"T", "aval", "addressable_shards", "at", "committed", "device_buffer", "device_buffers", "flat", "global_shards"}
    | {"is_fully_addressable", "is_fully_replicated", "itemsize", "mT", "nbytes", "ndim", "shape", "sharding", "size"}
    | {"strides", "base", "data", "ctypes", "flags", "device", "traceback"}
)
SAME_FOR_BOTH = frozenset({"dtype", "weak_type"})
INERT_BASES = frozenset(
    {"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol", "enum.Enum", "builtins.Exception"}
    | {"typing.NamedTuple", "dataclasses.dataclass", "builtins.ValueError", "builtins.RuntimeError"}
)
PYTREE_MARKS = frozenset(
    {"flax.struct.dataclass", "chex.dataclass", "jax.tree_util.register_pytree_node_class"}
    | {"jax.tree_util.register_dataclass", "flax.training.train_state.TrainState", "typing.NamedTuple"}
    | {"flax.struct.PyTreeNode", "jax_dataclasses.pytree_dataclass", "simple_parsing.Serializable", "equinox.Module"}
)


def evaluate(it: Interpreter, node: ast.expr, frame: Frame) -> Abstract:
    """The value of an expression; what it does to variables is done.

    What has had no value when nothing changed any more comes about in a way that is not followed.
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
            return attribute(it, node, frame)
        case ast.Subscript():
            return subscript(it, node, frame)
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
            _yielded(it, element(it, evaluate(it, value, frame), node, frame), node, frame)
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
    """A condition: an array's truth depends on how many elements it has, a list's does not."""
    value = evaluate(it, node, frame)
    if isinstance(value, Ref):
        it.pin_all([value], "is used as a condition", node, frame.module)


def _tuple(it: Interpreter, elements: Sequence[ast.expr], frame: Frame) -> Abstract:
    parts: list[Abstract] = []
    for one in elements:
        if isinstance(one, ast.Starred):
            value = evaluate(it, one.value, frame)
            if isinstance(value, Tup):
                parts += value.parts
                continue
            it.pin_all([value], "is unpacked into a tuple", one, frame.module)
            return PLAIN if not any(is_tracked(p) for p in parts) else _pinned(it, parts, one, frame)
        parts.append(evaluate(it, one, frame))
    return Tup(tuple(parts))


def _pinned(it: Interpreter, parts: Sequence[Abstract], node: ast.expr, frame: Frame) -> Abstract:
    it.pin_all(parts, "is part of a tuple of unknown length", node, frame.module)
    return PLAIN


def _list(it: Interpreter, elements: Sequence[ast.expr], node: ast.expr, frame: Frame) -> Abstract:
    box = it.box(node)
    for one in elements:
        if isinstance(one, ast.Starred):
            it.fill(box, element(it, evaluate(it, one.value, frame), one, frame), one, frame.module)
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
        if index + 1 < len(values) and isinstance(one, Ref):
            it.pin_all([one], "is used as a condition", value, frame.module)
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
    for _ in range(_rounds(node)):
        before = dict(frame.env or {})
        _generators(it, generators, frame)
        it.fill(box, evaluate(it, elt, frame), elt, frame.module)
        _restore(before, generators, frame)
        frame.env = it.join_env(before, frame.env, node, frame.module)
    return Seq(box)


def _rounds(node: ast.expr) -> int:
    """How often a comprehension runs until what it assigns has come round."""
    return 4 if any(isinstance(n, ast.NamedExpr) for n in ast.walk(node)) else 1


def _dict_comprehension(
    it: Interpreter,
    node: ast.expr,
    key: ast.expr,
    value: ast.expr,
    generators: Sequence[ast.comprehension],
    frame: Frame,
) -> Abstract:
    box = it.box(node)
    for _ in range(_rounds(node)):
        before = dict(frame.env or {})
        _generators(it, generators, frame)
        it.pin_all([evaluate(it, key, frame)], "is a dictionary's key", key, frame.module)
        it.fill(box, evaluate(it, value, frame), value, frame.module)
        _restore(before, generators, frame)
        frame.env = it.join_env(before, frame.env, node, frame.module)
    return Dct(box)


def _generators(it: Interpreter, generators: Sequence[ast.comprehension], frame: Frame) -> None:
    for generator in generators:
        source = evaluate(it, generator.iter, frame)
        _bind(it, generator.target, element(it, source, generator.iter, frame), frame)
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
        for one, part in zip(target.elts, unpack(it, value, target.elts, target, frame), strict=True):
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


# Parts of values


def element(it: Interpreter, value: Abstract, node: ast.AST, frame: Frame) -> Abstract:
    """What iterating over a value gives."""
    match value:
        case Seq(box=box):
            return box.element
        case Tup(parts=parts):
            result: Abstract = NOTHING
            for part in parts:
                result = it.join(result, part, node, frame.module)
            return result
        case Nothing():
            return NOTHING
        case Ref() | Obj() | Func():
            it.pin_all([value], "is iterated over", node, frame.module)
    return PLAIN


def unpack(
    it: Interpreter, value: Abstract, targets: Sequence[ast.expr], node: ast.AST, frame: Frame
) -> list[Abstract]:
    """The parts of a value that is assigned to several targets."""
    starred = [i for i, t in enumerate(targets) if isinstance(t, ast.Starred)]
    match value:
        case Tup(parts=parts) if not starred and len(parts) == len(targets):
            return list(parts)
        case Tup(parts=parts) if starred and len(parts) >= len(targets) - 1:
            at, rest = starred[0], len(parts) - len(targets) + 1
            box = it.box("starred", node)
            for part in parts[at : at + rest]:
                it.fill(box, part, node, frame.module)
            return [*parts[:at], Seq(box), *parts[at + rest :]]
        case Nothing():
            return [NOTHING] * len(targets)
        case Ref(shape=shape) if shape is not None and shape.parts is not None and not starred:
            if len(shape.parts) == len(targets):
                it.changed |= value.cell.flatten()
                return [Ref(value.cell, part) for part in shape.parts]
    one = element(it, value, node, frame)
    others = it.box("starred", node)
    if starred:
        it.fill(others, one, node, frame.module)
    return [Seq(others) if i in starred else one for i in range(len(targets))]


def attribute(it: Interpreter, node: ast.Attribute, frame: Frame) -> Abstract:
    """`owner.name`."""
    owner = evaluate(it, node.value, frame)
    return attribute_of(it, owner, node.attr, node, frame)


def attribute_of(it: Interpreter, owner: Abstract, name: str, node: ast.Attribute, frame: Frame) -> Abstract:
    """An attribute of a value."""
    it.loads.add(node)
    match owner:
        case Func(items=items):
            result: Abstract = NOTHING
            for item in items:
                result = it.join(result, _item_attribute(it, item, name, node, frame), node, frame.module)
            return result
        case Obj(cls=cls):
            return _object_attribute(it, cls, name, node, frame)
        case Ref():
            return _tree_attribute(it, owner, name, node, frame)
        case Seq() | Dct() | Tup():
            before = NOTHING if _is_called(node, frame.module) else it.receivers.get(node, NOTHING)
            it.receivers[node] = it.join(before, owner, node, frame.module)
            return func(Method(node))
        case Nothing():
            return NOTHING
        case Plain(cls=Class() as cls) if (found := _instance_attribute(it, cls, name, node)) is not None:
            return found
    it.loads.discard(node)  # any object: an attribute of that name somewhere may be this one
    return PLAIN


def _item_attribute(it: Interpreter, item: object, name: str, node: ast.Attribute, frame: Frame) -> Abstract:
    match item:
        case Ext(name=dotted):
            found = canonical(f"{dotted}.{name}")
            if found == "sys.modules":
                it.of_modules.add(node)
                it.reflections[node] = calls.pin("can be reached through sys.modules", node, frame)
            return func(Ext(found))
        case Mod(module=module):
            return module_names.module_attribute(it, module, name)
        case Obj(cls=cls):
            return _object_attribute(it, cls, name, node, frame)
        case Class() if name == "create" and (made := _instance_attribute(it, item, name, node)) is not None:
            return made
        case Class():
            return _object_attribute(it, item, name, node, frame)
    if not isinstance(item, Function) or name not in ("__name__", "__doc__"):
        it.pin_all([func(item)], f"has its attribute {name} read", node, frame.module)  # type: ignore[arg-type]
    return PLAIN


def _object_attribute(it: Interpreter, cls: Class, name: str, node: ast.Attribute, frame: Frame) -> Abstract:
    result: Abstract = it.load(("attribute", it.root(cls), name))
    for holder in [*it.resolver.lineage(cls), *_descendants(it, cls)]:
        scope = holder.module.table.own_scope[holder.node]
        for binding in scope.bindings.get(name, []):
            if binding.kind != "def" or not isinstance(binding.node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if any(d in it.sites for d in binding.node.decorator_list):
                return PLAIN
            receiver = None if is_static(binding.node) else Instance(cls)
            method = Function(holder.module, binding.node, receiver)
            result = it.join(result, _method(it, method, node, frame), node, frame.module)
    if name in ("__dict__", "__getstate__", "__reduce__"):
        it.pin_all([Obj(cls)], f"is read through {name}", node, frame.module)
        return PLAIN
    if isinstance(result, Nothing) and not survey.is_assigned(it, name):
        return PLAIN
    return result


def _instance_attribute(it: Interpreter, cls: Class, name: str, node: ast.Attribute) -> Abstract | None:
    """A method of a tree of arrays that is not stacked; None for anything else."""
    for holder in it.resolver.lineage(cls):
        for binding in holder.module.table.own_scope[holder.node].bindings.get(name, []):
            plain = isinstance(binding.node, ast.FunctionDef) and not binding.node.decorator_list
            return func(Function(holder.module, binding.node, Instance(cls))) if plain else None  # type: ignore[arg-type]
    if name not in MAKES_ANOTHER or _descendants(it, cls):
        return None
    it.receivers[node] = Plain(cls)
    return func(Method(node))


def _descendants(it: Interpreter, cls: Class) -> list[Class]:
    """Classes of the modules in sight that derive from this one: `self.m` in a base may be theirs."""
    line = it.resolver.lineage(cls)
    return [c for c in survey.family(it, it.root(cls)) if c not in line]


def _method(it: Interpreter, method: Function, node: ast.Attribute, frame: Frame) -> Abstract:
    assert not isinstance(method.node, ast.Lambda)
    names = {callee_name(it, d, method.module) or ast.unparse(d) for d in method.node.decorator_list}
    names -= {"staticmethod", "classmethod", "builtins.staticmethod", "builtins.classmethod", "abc.abstractmethod"}
    if names & {"property", "builtins.property", "functools.cached_property"}:
        return calls.call_function(it, method, calls.given_of([]), node, frame)
    if names:
        it.escape(method, calls.pin("is changed by a decorator that is not followed", node, frame))
        devices.enter_device(it, method)
        return PLAIN
    return func(method)


def _is_called(node: ast.Attribute, module: Module) -> bool:
    """Whether an attribute is called where it stands."""
    parent = module.table.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node


def _tree_attribute(it: Interpreter, owner: Ref, name: str, node: ast.Attribute, frame: Frame) -> Abstract:
    """A field of a tree of arrays; of an array what does not depend on its leading axis."""
    if _is_called(node, frame.module):
        it.receivers[node] = owner
        return func(Method(node))
    if name in SAME_FOR_BOTH:
        return PLAIN
    if name in ARRAY_ATTRIBUTES or survey.is_property(it, name):
        it.pin_all([owner], f"has .{name} read", node, frame.module)
        return PLAIN
    shape = owner.shape.fields.get(name) if owner.shape is not None and owner.shape.fields is not None else None
    return Ref(owner.cell if owner.is_array else owner.cell.field(name), shape)


def subscript(it: Interpreter, node: ast.Subscript, frame: Frame) -> Abstract:
    """`owner[index]`."""
    owner = evaluate(it, node.value, frame)
    index = evaluate(it, node.slice, frame)
    it.pin_all([index], "is used as an index", node, frame.module)
    key = _constant_index(node.slice)
    match owner:
        case Tup(parts=parts):
            if isinstance(key, int) and -len(parts) <= key < len(parts):
                return parts[key]
            if isinstance(node.slice, ast.Slice):
                return _slice(parts, node.slice) or element(it, owner, node, frame)
            return element(it, owner, node, frame)
        case Seq(box=box):
            return owner if isinstance(node.slice, ast.Slice) else box.element
        case Dct(box=box):
            if isinstance(key, str):
                return it.join(box.fields.get(key, NOTHING), box.element, node, frame.module)
            result = box.element
            for value in list(box.fields.values()):
                result = it.join(result, value, node, frame.module)
            return result
        case Ref():
            return operations.item(it, owner, node, key, frame)
        case Obj() | Func():
            it.pin_all([owner], "is subscripted", node, frame.module)
        case Nothing():
            return NOTHING
    return PLAIN


def _constant_index(node: ast.expr) -> object:
    try:
        value: object = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None
    return value


def _slice(parts: tuple[Abstract, ...], node: ast.Slice) -> Abstract | None:
    bounds = [None if b is None else _constant_index(b) for b in (node.lower, node.upper, node.step)]
    known = all(b is None or isinstance(b, int) for b in bounds)
    whole = [b is None for b in (node.lower, node.upper, node.step)]
    if not known or any(b is None and not w for b, w in zip(bounds, whole, strict=True)):
        return None
    low, high, step = bounds
    return Tup(parts[slice(cast("int | None", low), cast("int | None", high), cast("int | None", step))])


# Names of things


def callee_name(it: Interpreter, node: ast.expr, module: Module) -> str:
    """The dotted name outside the project that a callee stands for, or an empty string."""
    value = it.resolver.value(node.func if isinstance(node, ast.Call) else node, module)
    return value.name if isinstance(value, External) else ""


def foreign_base(it: Interpreter, cls: Class) -> str:
    """A base of a class that the project does not hold and that may look at its attributes."""
    for one in it.resolver.lineage(cls):
        for base in one.node.bases:
            inner = base.value if isinstance(base, ast.Subscript) else base
            value = it.resolver.value(inner, one.module)
            if isinstance(value, Class) or (isinstance(value, External) and value.name in INERT_BASES | PYTREE_MARKS):
                continue
            return ast.unparse(base)
    return ""


def is_pytree(it: Interpreter, cls: Class) -> bool:
    """Whether objects of a class are trees of arrays."""
    for mark, module in marks_of(it, cls):
        value = it.resolver.value(mark, module)
        inner = it.resolver.values(mark.args[0], module) if isinstance(mark, ast.Call) and mark.args else ()
        if any(isinstance(v, External) and v.name in PYTREE_MARKS for v in (value, *inner)):
            return True
    return False


def one_cell(it: Interpreter, values: Sequence[Abstract], node: ast.AST, frame: Frame) -> Abstract:
    """One tree made of several values: all arrays in it share a representation."""
    tracked = [v for v in values if is_tracked(v)]
    if not tracked:
        return PLAIN
    if any(isinstance(v, Plain | Obj | Func) for v in values):
        it.pin_all(values, MIXED_TREE, node, frame.module)
        return PLAIN
    cell = it.group(tracked)
    return Ref(cell) if cell is not None else PLAIN


def with_fields(it: Interpreter, cell: Cell, fields: Mapping[str, Abstract], node: ast.AST, frame: Frame) -> Abstract:
    """An object in which some fields hold these values."""
    for name, value in fields.items():
        field = cell.field(name)
        if not is_tracked(value) or leaves_plain(value):
            it.pin_all([value], MIXED_TREE, node, frame.module)
            if not isinstance(value, Nothing):
                it.changed |= field.pin(calls.pin("is not known to hold one slice for every device", node, frame))
        elif (group := it.cell_of(value)) is not None:
            it.changed |= field.unify(group)
    return Ref(cell)


__all__ = ["Sequence", "attribute", "element", "evaluate", "subscript", "test", "unpack"]
