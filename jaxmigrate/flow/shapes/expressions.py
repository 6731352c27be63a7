"""The expressions of a program that runs without its numbers."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence

from jaxmigrate.flow.shapes import arrays, objects, splits
from jaxmigrate.flow.shapes.running import Run
from jaxmigrate.flow.shapes.values import (
    SCALAR,
    UNKNOWN,
    Array,
    Closure,
    Frame,
    Given,
    Library,
    Mesh,
    Method,
    Object,
    Thing,
    Updating,
    array_of,
)
from jaxmigrate.program.values import Constant, External, Function

LONGEST = 64  # items of a comprehension
NUMBERS: Mapping[type[ast.operator], Callable[[Thing, Thing], Thing]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
COMPARED: Mapping[type[ast.cmpop], Callable[[Thing, Thing], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
NEW_AXES = frozenset({"jax.numpy.newaxis", "numpy.newaxis"})  # names of None
PLAIN = (bool, int, float, str, type(None))


def truth(thing: Thing) -> bool | None:
    """Whether a condition holds; None where it is not known."""
    known = type(thing) in PLAIN or type(thing) in (tuple, list, dict)
    return bool(thing) if known else None


def items(thing: Thing) -> list[Thing] | None:
    """What iterating over something gives."""
    if type(thing) in (tuple, list, range):
        return list(thing)
    if type(thing) is dict:
        return list(thing)
    if isinstance(thing, Array) and thing.dims and thing.dims[0] is not None and thing.dims[0] <= LONGEST:
        return [Array(thing.dims[1:])] * thing.dims[0]
    return None


def evaluate(run: Run, node: ast.expr, frame: Frame) -> Thing:
    """What an expression is."""
    handler = HANDLERS.get(type(node))
    return UNKNOWN if handler is None else handler(run, node, frame)


def _plain(_run: Run, node: ast.Constant, _frame: Frame) -> Thing:
    return node.value


def _sequence(run: Run, node: ast.Tuple | ast.List, frame: Frame) -> Thing:
    found = _listed(run, node.elts, frame)
    return UNKNOWN if found is None else tuple(found) if isinstance(node, ast.Tuple) else found


def _any_of(run: Run, node: ast.BoolOp, frame: Frame) -> Thing:
    for part in node.values:
        run.evaluate(part, frame)
    return UNKNOWN


def _either(run: Run, node: ast.IfExp, frame: Frame) -> Thing:
    known = truth(run.evaluate(node.test, frame))
    return UNKNOWN if known is None else run.evaluate(node.body if known else node.orelse, frame)


def _lambda(_run: Run, node: ast.Lambda, frame: Frame) -> Thing:
    return Closure(node, frame)


def _assigned(run: Run, node: ast.NamedExpr, frame: Frame) -> Thing:
    made = run.evaluate(node.value, frame)
    run.bind(node.target, made, frame)
    return made


def _listed_rounds(run: Run, node: ast.ListComp | ast.GeneratorExp, frame: Frame) -> Thing:
    found = _comprehended(run, [node.elt], node.generators, frame)
    return UNKNOWN if found is None else [one for (one,) in found]


def _named_rounds(run: Run, node: ast.DictComp, frame: Frame) -> Thing:
    found = _comprehended(run, [node.key, node.value], node.generators, frame)
    if found is None or not all(isinstance(one[0], str | int) for one in found):
        return UNKNOWN
    return {one[0]: one[1] for one in found}


def _name(run: Run, node: ast.Name, frame: Frame) -> Thing:
    holder = frame.holder(node.id)
    if holder is not None:
        return holder.names[node.id]
    if node not in frame.module.table.scope_of:
        return UNKNOWN
    value = run.resolver.value(node, frame.module)
    match value:
        case External(name=name):
            return None if name in NEW_AXES else Library(name)
        case Function(module=module, node=function, receiver=None) if module is not frame.module:
            plain = isinstance(function, ast.FunctionDef) and not function.decorator_list
            return Closure(function, Frame(module)) if plain else UNKNOWN
        case Constant(value=content) if type(content) in PLAIN:
            return content
    return UNKNOWN


def _attribute(run: Run, node: ast.Attribute, frame: Frame) -> Thing:
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and frame.holder(root.id) is None and root in frame.module.table.scope_of:
        value = run.resolver.value(node, frame.module)
        if not isinstance(value, External):
            return UNKNOWN
        return None if value.name in NEW_AXES else Library(value.name)
    held, name = run.evaluate(node.value, frame), node.attr
    match held:
        case Library():
            return Library(f"{held.name}.{name}")
        case Mesh() if name == "shape":
            return {axis: UNKNOWN if count is None else count for axis, count in held.sizes.items()}
        case Mesh() if name == "axis_names":
            return tuple(held.sizes)
        case Mesh() if name == "devices":
            return Array(tuple(held.sizes.values()))
        case Updating():
            return Method(held.array, "at")
        case Object():
            return objects.attribute(run, held, name, frame)
        case Array():
            return _of_array(held, name)
    return Method(SCALAR, "items") if type(held) is dict and name == "items" else UNKNOWN


def _of_array(held: Array, name: str) -> Thing:
    match name:
        case "shape":
            return tuple(UNKNOWN if one is None else one for one in held.dims)
        case "ndim":
            return len(held.dims)
        case "size":
            whole = arrays.size(held.dims)
            return UNKNOWN if whole is None else whole
        case "T":
            return Array(held.dims[::-1])
        case "mT":
            return Array((*held.dims[:-2], *held.dims[:-3:-1])) if len(held.dims) > 1 else UNKNOWN
        case "at":
            return Updating(held)
        case "dtype":
            return UNKNOWN
    return Method(held, name)


def _listed(run: Run, elements: Sequence[ast.expr], frame: Frame) -> list[Thing] | None:
    made: list[Thing] = []
    for one in elements:
        if isinstance(one, ast.Starred):
            inner = run.items(run.evaluate(one.value, frame))
            if inner is None:
                return None
            made += inner
        else:
            made.append(run.evaluate(one, frame))
    return made


def _dict(run: Run, node: ast.Dict, frame: Frame) -> Thing:
    made: dict[Thing, Thing] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        held = run.evaluate(value, frame)
        if key is None:
            if type(held) is not dict:
                return UNKNOWN
            made.update(held)
            continue
        name = run.evaluate(key, frame)
        if not isinstance(name, str | int | None):
            return UNKNOWN
        made[name] = held
    return made


def _operation(run: Run, node: ast.BinOp, frame: Frame) -> Thing:
    op, left, right = node.op, run.evaluate(node.left, frame), run.evaluate(node.right, frame)
    found = _of_numbers(op, left, right)
    if found is not UNKNOWN:
        return found
    one, other = array_of(left), array_of(right)
    if one is None or other is None:
        return UNKNOWN
    if isinstance(op, ast.MatMult):
        return run.tried(node, frame, lambda: splits.product(one, other))
    return run.tried(node, frame, lambda: splits.together(one, other))


def _of_numbers(op: ast.operator, left: Thing, right: Thing) -> Thing:
    """What an operator makes of numbers, tuples and texts."""
    kinds = {type(left), type(right)}
    number = NUMBERS.get(type(op))
    if number is not None and kinds <= {int, float, bool}:
        divides = isinstance(op, ast.Div | ast.FloorDiv | ast.Mod)
        return SCALAR if divides and not right else number(left, right)
    if isinstance(op, ast.Pow) and kinds == {int} and 0 <= right < LONGEST:
        return left**right
    if isinstance(op, ast.Add) and (kinds == {tuple} or kinds == {list} or kinds == {str}):
        return left + right
    if isinstance(op, ast.Mult) and int in kinds and kinds & {tuple, list}:
        count, several = (left, right) if type(left) is int else (right, left)
        return several * count if 0 <= len(several) * count <= LONGEST else UNKNOWN
    return UNKNOWN


def _unary(run: Run, node: ast.UnaryOp, frame: Frame) -> Thing:
    op, operand = node.op, run.evaluate(node.operand, frame)
    if isinstance(op, ast.Not):
        known = truth(operand)
        return UNKNOWN if known is None else not known
    if isinstance(operand, Array):
        return operand
    return -operand if isinstance(op, ast.USub) and type(operand) in (int, float) else UNKNOWN


def _compared(run: Run, node: ast.Compare, frame: Frame) -> Thing:
    sides = [run.evaluate(one, frame) for one in (node.left, *node.comparators)]
    plain = all(type(one) in PLAIN for one in sides)
    if len(sides) == 2 and plain:
        numbers = {type(one) for one in sides} <= {int, float, bool} and type(node.ops[0]) not in (ast.In, ast.NotIn)
        if numbers or isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot):
            return COMPARED[type(node.ops[0])](sides[0], sides[1])
        return UNKNOWN
    if len(sides) == 2 and isinstance(node.ops[0], ast.Is | ast.IsNot) and None in sides:
        other = sides[0] if sides[1] is None else sides[1]
        return UNKNOWN if other is UNKNOWN else isinstance(node.ops[0], ast.IsNot)
    known = [array_of(one) for one in sides]
    if any(one is None for one in known):
        return UNKNOWN
    return run.tried(node, frame, lambda: arrays.broadcast([one for one in known if one is not None]))


def _subscript(run: Run, node: ast.Subscript, frame: Frame) -> Thing:
    held, index = run.evaluate(node.value, frame), node.slice
    parts = [_index(run, one, frame) for one in (index.elts if isinstance(index, ast.Tuple) else [index])]
    if isinstance(held, Array):
        return run.tried(node, frame, lambda: splits.indexed(held, parts))
    if isinstance(held, Updating):
        return held
    key = parts[0] if len(parts) == 1 else UNKNOWN
    if type(held) in (tuple, list):
        if type(key) is int:
            return held[key] if -len(held) <= key < len(held) else UNKNOWN
        if not isinstance(key, slice) or key.step == 0:
            return UNKNOWN
        return held[key] if all(type(n) in (int, type(None)) for n in (key.start, key.stop, key.step)) else UNKNOWN
    if type(held) is dict and isinstance(key, str | int | None):
        return held.get(key, UNKNOWN)
    return UNKNOWN


def _index(run: Run, node: ast.expr, frame: Frame) -> Thing:
    if isinstance(node, ast.Slice):
        ends = [None if one is None else run.evaluate(one, frame) for one in (node.lower, node.upper, node.step)]
        return slice(*ends)
    return run.evaluate(node, frame)


def _call(run: Run, node: ast.Call, frame: Frame) -> Thing:
    callee = run.evaluate(node.func, frame)
    given = _listed(run, node.args, frame)
    named: dict[str, Thing] = {}
    for one in node.keywords:
        value = run.evaluate(one.value, frame)
        if one.arg is not None:
            named[one.arg] = value
        elif type(value) is dict and all(isinstance(key, str) for key in value):
            named |= value
        else:
            given = None
    if isinstance(node.func, ast.Attribute) and callee is UNKNOWN:
        _change(run, node.func, frame)
    if given is None:
        for one in named.values():
            run.spoil(one)
        return UNKNOWN
    if isinstance(callee, Method) and callee.name == "items":
        owner = run.evaluate(node.func.value, frame) if isinstance(node.func, ast.Attribute) else UNKNOWN
        return list(owner.items()) if type(owner) is dict else UNKNOWN
    return run.call(callee, Given(given, named), node, frame)


def _change(run: Run, callee: ast.Attribute, frame: Frame) -> None:
    """A method of a list or a dictionary, which may change it."""
    if isinstance(callee.value, ast.Name):
        holder = frame.holder(callee.value.id)
        if holder is not None:
            run.spoil(holder.names[callee.value.id])


def _comprehended(
    run: Run, wanted: Sequence[ast.expr], generators: Sequence[ast.comprehension], frame: Frame
) -> list[list[Thing]] | None:
    """What the rounds of a comprehension with one generator and no condition give."""
    if len(generators) != 1 or generators[0].ifs:
        return None
    each = run.items(run.evaluate(generators[0].iter, frame))
    if each is None or len(each) > LONGEST:
        return None
    inner, found = Frame(frame.module, frame), []
    for one in each:
        run.bind(generators[0].target, one, inner)
        found.append([run.evaluate(part, inner) for part in wanted])
    return found


HANDLERS: Mapping[type[ast.expr], Callable[..., Thing]] = {
    ast.Constant: _plain,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Dict: _dict,
    ast.BinOp: _operation,
    ast.UnaryOp: _unary,
    ast.Compare: _compared,
    ast.BoolOp: _any_of,
    ast.IfExp: _either,
    ast.Lambda: _lambda,
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.NamedExpr: _assigned,
    ast.ListComp: _listed_rounds,
    ast.GeneratorExp: _listed_rounds,
    ast.DictComp: _named_rounds,
}
