"""What an expression evaluates to: one case for each kind of expression."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from jaxmigrate.flow.variance import decisions, means, objects, suspicion
from jaxmigrate.flow.variance.callees import Closure
from jaxmigrate.flow.variance.frames import Frame
from jaxmigrate.flow.variance.lattice import (
    ARRAY,
    EQUAL,
    NO_CAUSE,
    OTHERS,
    AbstractValue,
    Level,
    constant,
    dictionary,
    doubtful,
    each,
    element,
    held_in,
    identified,
    inside,
    join_all,
    list_of,
    made_at,
    renewed,
    replace,
    tuple_of,
    union,
    unsure,
    whole,
)
from jaxmigrate.flow.variance.run import Expression, Run, at_least
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import FunctionNode, defaults_of, walk
from jaxmigrate.program.values import Class, Constant, Function

MOST_UNROLLED = 8


def _name(run: Run, node: ast.Name, frame: Frame) -> AbstractValue:
    holder = frame.holder(node.id)
    if holder is not None:
        return holder.names[node.id]
    found = run.captured(node, frame)
    made = found.static.node if isinstance(found.static, Class) and found.static.module is frame.module else None
    if made is None or frame.module.table.scope_of[node].lookup(node.id) is frame.module.table.root:
        return found
    return replace(found, level=held_in([captured(run, made, frame)]))  # a class of its own for each call


def _constant(_run: Run, node: ast.Constant, _frame: Frame) -> AbstractValue:
    return constant(node.value)


def _lambda(run: Run, node: ast.Lambda, frame: Frame) -> AbstractValue:
    return closure(run, node, frame)


def closure(run: Run, node: FunctionNode, frame: Frame) -> AbstractValue:
    """The function that a def or lambda makes here."""
    seen: Frame | None = frame
    while seen is not None:
        seen.captured = True
        seen = seen.parent
    defaults = tuple((name, run.evaluate(default, frame)) for name, default in defaults_of(node.args))
    made = Function(frame.module, node)
    held = captured(run, node, frame)
    places = held.places.union(*(value.places for _, value in defaults))
    level = held_in([held, *(value for _, value in defaults)])
    return AbstractValue(level, callee=Closure(made, frame, defaults), host=bool(run.doubt), places=places)


def captured(run: Run, node: ast.AST, frame: Frame) -> AbstractValue:
    """What a function or class made here can give beside what it is given: whoever runs it out of sight sees that.

    A name that is bound later or again may hold anything by then; what is made here may be filled later.
    """
    if node not in run.shared.free:
        run.shared.free[node] = tuple(sorted(free_names(node, frame.module).items()))
    held: list[AbstractValue] = []
    for name, is_bound_once in run.shared.free[node]:
        holder = frame.holder(name)
        value = holder.names[name] if holder is not None and is_bound_once else unsure(EQUAL)
        held.append(replace(value, level=inside(value)))
    filled = (value.places for value in held if value.own)
    return replace(union(held), places=frozenset[object]().union(*filled))


def free_names(node: ast.AST, module: Module) -> dict[str, bool]:
    """The variables of functions around a function or class that it reads, and whether each is bound only once."""
    table = module.table
    inner = set(walk(node))
    found: dict[str, bool] = {}
    for name in inner:
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load) and name in table.scope_of:
            holder = table.scope_of[name].lookup(name.id)
            own = name.id == getattr(node, "name", "")  # what it holds is what it captures
            if holder is not None and holder.kind != "module" and holder.node not in inner and not own:
                found[name.id] = holder.kind == "function" and len(holder.bindings[name.id]) == 1
    return found


def _display(run: Run, node: ast.Tuple | ast.List, frame: Frame) -> AbstractValue:
    parts: list[AbstractValue] | None = []
    loose: list[AbstractValue] = []
    for item in node.elts:
        value = run.evaluate(item.value if isinstance(item, ast.Starred) else item, frame)
        loose.append(element(value) if isinstance(item, ast.Starred) else value)
        if not isinstance(item, ast.Starred):
            parts = [*parts, value] if parts is not None else None
        else:
            parts = [*parts, *value.parts] if parts is not None and value.parts is not None else None
    made = tuple_of(parts) if parts is not None else each(join_all(loose))
    return made_at(made, node) if isinstance(node, ast.List) else made


def _set(run: Run, node: ast.Set, frame: Frame) -> AbstractValue:
    inner = join_all([run.evaluate(e, frame) for e in node.elts])
    return each(inner, frozenset([node]))


def _dict(run: Run, node: ast.Dict, frame: Frame) -> AbstractValue:
    fields: dict[str, AbstractValue] = {}
    for key, entry in zip(node.keys, node.values, strict=True):
        value = run.evaluate(entry, frame)
        known = run.evaluate(key, frame) if key is not None else EQUAL
        match key, known.static:
            case None, _ if value.fields is not None:
                fields |= value.fields
            case None, _:
                fields = {name: join_all([old, whole(value)]) for name, old in fields.items()}
                fields[OTHERS] = join_all([fields[OTHERS], whole(value)]) if OTHERS in fields else whole(value)
            case _, Constant(value=str(text)):
                fields[text] = value
            case _:
                value = union([value, known])
                fields[OTHERS] = join_all([fields[OTHERS], value]) if OTHERS in fields else value
    return made_at(dictionary(fields), node)


def _attribute(run: Run, node: ast.Attribute, frame: Frame) -> AbstractValue:
    found = objects.attribute(run, run.evaluate(node.value, frame), node.attr)
    return suspicion.as_axis(run, node, found, frame) if run.mode.unmapped else found


def _subscript(run: Run, node: ast.Subscript, frame: Frame) -> AbstractValue:
    value, index = run.evaluate(node.value, frame), run.evaluate(node.slice, frame)
    objects.operate(run, (value, index), GETTING)
    found = renewed(item(objects.in_order(run, value), index, node.slice), (index,))
    return identified(found, node) if isinstance(node.slice, ast.Slice) else found


def item(value: AbstractValue, index: AbstractValue, node: ast.expr | None = None) -> AbstractValue:
    """What `value[index]` is."""
    key = index.static.value if isinstance(index.static, Constant) else None
    found: AbstractValue | None = None
    if value.parts is not None and isinstance(key, int) and -len(value.parts) <= key < len(value.parts):
        found = value.parts[key]
    elif value.parts is not None and isinstance(node, ast.Slice):
        bounds = _bounds(node)
        found = list_of(value.parts[bounds]) if bounds is not None else each(element(value), value.places)
    elif value.fields is not None and isinstance(key, str):
        found = objects.field(value, key)
    elif value.parts is None and value.fields is None and isinstance(value.static, Constant):
        found = replace(value, static=None)
    elif value.kind == "array":
        return replace(union([value, index]), kind="array", static=value.static)
    if found is None:
        found = whole(value) if value.parts is None or value.fields is not None else element(value)
    return doubtful(found) if index.host else at_least(found, index.level)


def _bounds(node: ast.Slice) -> slice | None:
    found: list[int | None] = []
    for bound in (node.lower, node.upper, node.step):
        match bound:
            case None:
                found.append(None)
            case ast.Constant(value=int(number)):
                found.append(number)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
                found.append(-number)
            case _:
                return None
    return slice(*found)


def _conditional(run: Run, node: ast.IfExp, frame: Frame) -> AbstractValue:
    doubt = uncertain(run, node.test, frame)
    if (settled := decisions.outcome(run, node.test, frame)) is not None:
        return run.evaluate(node.body if settled else node.orelse, frame)
    run.doubt += doubt
    found = [run.evaluate(node.body, frame), run.evaluate(node.orelse, frame)]
    suspects = run.mode.lenient and not suspicion.is_about_maps(node.test)
    result = suspicion.one_of(found) if suspects else join_all(found)
    result = suspicion.either(run, found, result) if run.mode.lenient else result
    run.doubt -= doubt
    return doubtful(result, run.untold) if doubt else result


def uncertain(run: Run, test: ast.expr, frame: Frame) -> bool:
    """Whether processes may not agree on a test; arrays cannot be tested, so that what is tested is of the host."""
    value = run.evaluate(test, frame)
    if run.agrees:
        return False
    found = value.host or (value.level == Level.MAY and value.parts is None and value.fields is None)
    if found:
        known = value.cause is not NO_CAUSE
        run.untold = value.cause if known else run.cause("", test, host=True)
    return found


def _boolean(run: Run, node: ast.BoolOp, frame: Frame) -> AbstractValue:
    found = [run.evaluate(operand, frame) for operand in node.values]
    result = join_all(found)
    return doubtful(result) if any(v.host for v in found) else result


def _compare(run: Run, node: ast.Compare, frame: Frame) -> AbstractValue:
    found = [run.evaluate(operand, frame) for operand in (node.left, *node.comparators)]
    objects.operate(run, found, COMPARING)
    structural = all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)
    membership = all(isinstance(op, ast.In | ast.NotIn) for op in node.ops) and _is_text(found[0])
    if structural or membership:
        host = any(v.host for v in found)
        return replace(unsure(EQUAL) if host else ARRAY, kind="array")
    return replace(union(found), kind="array", gradient=False)  # truth values are none


def _is_text(value: AbstractValue) -> bool:
    return isinstance(value.static, Constant) and isinstance(value.static.value, str)


GETTING = frozenset({"__getitem__"})
COMPARING = frozenset({"__contains__", "__eq__", "__ge__", "__gt__", "__le__", "__lt__", "__ne__"})
OPERATING = frozenset(
    f"__{prefix}{name}__"
    for name in (
        *("add", "and", "floordiv", "lshift", "matmul", "mod", "mul", "or", "pow", "rshift", "sub", "truediv", "xor"),
    )
    for prefix in ("", "r")
)


def _arithmetic(run: Run, node: ast.BinOp, frame: Frame) -> AbstractValue:
    left, right = run.evaluate(node.left, frame), run.evaluate(node.right, frame)
    return identified(operated(run, node, node.op, left, right, frame), node)


def operated(
    run: Run, node: ast.expr, op: ast.operator, left: AbstractValue, right: AbstractValue, frame: Frame
) -> AbstractValue:
    """What `left op right` is."""
    objects.operate(run, (left, right), OPERATING)
    if isinstance(op, ast.Add) and left.parts is not None and right.parts is not None:
        return list_of([*left.parts, *right.parts])
    if isinstance(op, ast.BitOr) and left.fields is not None and right.fields is not None:
        return dictionary({**left.fields, **right.fields})
    result = union([left, right])
    is_sequence = _is_sequence(run, op, left, right)
    places = left.places | right.places if is_sequence else frozenset()
    result = replace(result, kind="unknown" if is_sequence else "array", places=places)
    if isinstance(op, ast.Sub) and right.gradient and not left.gradient:
        if not run.quiet():
            run.reading.updates.append((frame.module, node))
        result = replace(result, updated=True)
    marked = run.mode.lenient and (result.marks or left.marks or right.marks)
    return means.of_operation(run, op, node, left, right, result) if marked else result


def _is_array(value: AbstractValue) -> bool:
    return value.kind == "array" and not isinstance(value.static, Constant)


def _is_sequence(run: Run, op: ast.operator, left: AbstractValue, right: AbstractValue) -> bool:
    """Whether `left op right` may be a list, or another object that holds what its operands hold."""
    if not isinstance(op, ast.Mult | ast.Add) or _is_array(left) or _is_array(right):
        return False
    method = "__mul__" if isinstance(op, ast.Mult) else "__add__"
    numbers = [_is_fraction(v) if isinstance(op, ast.Mult) else v.kind == "array" for v in (left, right)]
    if not any(numbers):
        return True  # of numbers, only whole ones repeat a list, and none is added to one
    own = method if numbers[1] else f"__r{method[2:]}"
    return not run.mode.lenient and run.shared.hidden.is_defined(own)


def _is_fraction(value: AbstractValue) -> bool:
    return isinstance(value.static, Constant) and isinstance(value.static.value, float | complex)


def _unary(run: Run, node: ast.UnaryOp, frame: Frame) -> AbstractValue:
    value = run.evaluate(node.operand, frame)
    if isinstance(node.op, ast.Not):
        return replace(union([value]), kind="array")
    static = value.static
    if isinstance(node.op, ast.USub) and isinstance(static, Constant) and isinstance(static.value, int | float):
        return constant(-static.value)
    return replace(union([value]), kind=value.kind)


def _walrus(run: Run, node: ast.NamedExpr, frame: Frame) -> AbstractValue:
    value = run.evaluate(node.value, frame)
    holder = frame
    while holder.node is None and holder.parent is not None:
        holder = holder.parent
    objects.bind_name(run, node.target.id, run.settle(value), holder)
    return value


def _comprehension(run: Run, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, frame: Frame) -> AbstractValue:
    found, known = _generated(run, node.generators, frame, lambda inner: run.evaluate(node.elt, inner))
    made = tuple_of(found) if known and not isinstance(node, ast.SetComp) else each(join_all(found))
    if isinstance(node, ast.GeneratorExp) and not _is_consumed(node, frame):
        return unsure(made)  # what it reads may change before it does
    return made_at(made, node)


CONSUMERS = frozenset({"sum", "tuple", "list", "dict", "set", "max", "min", "any", "all", "sorted", "join", "stack"})


def _is_consumed(node: ast.GeneratorExp, frame: Frame) -> bool:
    """Whether a generator is run to its end where it is made."""
    call = frame.module.table.parents.get(node)
    if isinstance(call, ast.Assign):
        return all(isinstance(target, ast.Tuple | ast.List) for target in call.targets)  # which unpack it
    if not isinstance(call, ast.Call):
        return False
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in CONSUMERS


def _dict_comprehension(run: Run, node: ast.DictComp, frame: Frame) -> AbstractValue:
    entries: list[tuple[AbstractValue, AbstractValue]] = []

    def entry(inner: Frame) -> AbstractValue:
        entries.append((run.evaluate(node.key, inner), run.evaluate(node.value, inner)))
        return entries[-1][1]

    found, known = _generated(run, node.generators, frame, entry)
    if known and all(_is_text(key) for key, _ in entries):
        made = dictionary({str(key.static.value): v for key, v in entries if isinstance(key.static, Constant)})
    else:
        held = {OTHERS: join_all([at_least(v, key.level) for key, v in entries])} if found else {}
        made = dictionary(held)
        made = doubtful(made) if any(key.host for key, _ in entries) else made
    return made_at(made, node)


def _generated(
    run: Run, generators: Sequence[ast.comprehension], frame: Frame, make: Callable[[Frame], AbstractValue]
) -> tuple[list[AbstractValue], bool]:
    """What a comprehension makes, and whether that is one value for each element in turn."""
    inner = Frame(frame.module, None, frame, loops=frame.loops)
    run.frames.append(inner)
    first, *more = generators
    source = run.evaluate(first.iter, frame)
    known = source.parts is not None and len(source.parts) <= MOST_UNROLLED and not more and not first.ifs
    found: list[AbstractValue] = []
    for one in source.parts if known and source.parts is not None else [element(source)]:
        objects.assign(run, first.target, one, inner)
        doubt = source.host | _tested(run, first, inner)
        for generator in more:
            objects.assign(run, generator.target, element(run.evaluate(generator.iter, inner)), inner)
            doubt |= _tested(run, generator, inner)
        value = make(inner)
        found.append(doubtful(value) if doubt else value)
    run.live(inner)
    return found, known


def _tested(run: Run, generator: ast.comprehension, frame: Frame) -> bool:
    """Whether processes may not agree on which elements a comprehension takes."""
    doubts = [uncertain(run, test, frame) for test in generator.ifs]
    return any(doubts)


def _text(run: Run, node: ast.JoinedStr, frame: Frame) -> AbstractValue:
    return replace(run.operands(node, frame), kind="array")


def _yield(run: Run, node: ast.Yield, frame: Frame) -> AbstractValue:
    value = run.evaluate(node.value, frame) if node.value is not None else EQUAL
    _function_frame(frame).yielded.append(run.settle(value))
    return unsure(EQUAL)


def _yield_from(run: Run, node: ast.YieldFrom, frame: Frame) -> AbstractValue:
    _function_frame(frame).yielded.append(run.settle(element(run.evaluate(node.value, frame))))
    return unsure(EQUAL)


def _function_frame(frame: Frame) -> Frame:
    while frame.node is None and frame.parent is not None:
        frame = frame.parent
    return frame


def _inner(run: Run, node: ast.Starred | ast.Await, frame: Frame) -> AbstractValue:
    return run.evaluate(node.value, frame)


HANDLERS: dict[type[ast.expr], Expression] = {
    ast.Name: _name,
    ast.Constant: _constant,
    ast.Lambda: _lambda,
    ast.Tuple: _display,
    ast.List: _display,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.IfExp: _conditional,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.BinOp: _arithmetic,
    ast.UnaryOp: _unary,
    ast.NamedExpr: _walrus,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _dict_comprehension,
    ast.JoinedStr: _text,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.Starred: _inner,
    ast.Await: _inner,
}
