"""What values are made of: the elements, items and parts of containers and trees, and trees made of several values."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import cast

from jaxmigrate.flow.conditions import REFLECTING
from jaxmigrate.flow.layout import implicit_methods, operations, read_only_copies, several_results
from jaxmigrate.flow.layout.causes import NOT_ONE, Stacked
from jaxmigrate.flow.layout.implicit_methods import ITEM
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.flow.layout.values import (
    CONTAINER,
    MADE,
    NOTHING,
    PLAIN,
    Abstract,
    Blocker,
    Box,
    Dct,
    Func,
    Nothing,
    Obj,
    Plain,
    Ref,
    Seq,
    Tup,
    is_tracked,
    leaves_plain,
    numpys_in,
)
from jaxmigrate.flow.variance import AbstractValue
from jaxmigrate.program.trust import Assumption

MIXED_TREE = Stacked.MIXED.reason("is part of a pytree whose other arrays may have no device axis")


def element(it: Interpreter, value: Abstract, node: ast.AST, frame: Frame, place: ast.expr | None = None) -> Abstract:
    """What iterating over a value gives, which stands in a `place`."""
    match value:
        case Seq(box=box):
            return held(it, box, box.element, node, frame)
        case Tup(parts=parts):
            result: Abstract = NOTHING
            for part in parts:
                result = it.join(result, part, node, frame.module)
            return result
        case Nothing():
            return NOTHING
        case Ref(shape=AbstractValue(kind="dict")):
            return PLAIN  # its keys
        case Obj() if isinstance(node, ast.expr):
            found = implicit_methods.element(it, value, node, frame)
            if found is not None:
                return found
    if isinstance(value, Ref | Obj | Func):
        read = Stacked.READ_ON_HOST.reason("is iterated over")
        read_only_copies.keep_read(it, [(value, place)], read, node, frame, exact=True)
    return PLAIN


def held(it: Interpreter, box: Box, value: Abstract, node: ast.AST, frame: Frame) -> Abstract:
    """A value from a container; where that went where fix cannot follow it, another function may be in its place."""
    return it.join(value, PLAIN, node, frame.module) if box.blocked is not None and isinstance(value, Func) else value


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
            for part in parts[at : at + rest] if not _is_never_read(it, targets[at], frame) else ():
                it.fill(box, part, node, frame.module)
            return [*parts[:at], Seq(box), *parts[at + rest :]]
        case Nothing():
            return [NOTHING] * len(targets)
        case Ref(shape=shape) if shape is not None and shape.parts is not None and not starred:
            if len(shape.parts) == len(targets):
                it.changed |= value.group.flatten()
                return [value.part(part) for part in shape.parts]
        case Ref() if len(targets) > 1 and not starred and _is_several(it, value, node, frame):
            it.changed |= value.group.flatten()
            return [value.part() for _ in targets]
    one = element(it, value, node, frame, node.value if isinstance(node, ast.Assign) else None)
    others = it.box("starred", node)
    if starred:
        it.fill(others, one, node, frame.module)
    return [Seq(others) if i in starred else one for i in range(len(targets))]


def _is_several(it: Interpreter, value: Ref, node: ast.AST, frame: Frame) -> bool:
    """Whether a reader takes what is assigned to several names for a tuple or list, and not for one array's rows."""
    given = node.value if isinstance(node, ast.Assign) else None
    if given is None or value.is_array or not it.trust.likely or value.shape not in (None, CONTAINER):
        return False
    says = f"`{ast.unparse(given)}` is a tuple or list of arrays, and not one array"
    it.lean([value], Assumption("likely", "splits", "", says, frame.module, given))
    return True


def _is_never_read(it: Interpreter, target: ast.expr, frame: Frame) -> bool:
    """Whether nothing reads what a starred target of a function gets: `state, *_ = step(...)`."""
    name = target.value if isinstance(target, ast.Starred) else target
    if not isinstance(name, ast.Name) or frame.scope.kind != "function" or name.id in frame.scope.outer_names:
        return False
    return name.id not in frame.module.table.named and it.names_in(frame.module.tree).isdisjoint(REFLECTING)


def item(it: Interpreter, owner: Abstract, node: ast.Subscript, frame: Frame, text: str | None = None) -> Abstract:
    """`owner[index]` of a value; `text` is what the index is known to be."""
    key = _constant_index(node.slice) if text is None else text
    match owner:
        case Tup(parts=parts):
            if isinstance(key, int) and -len(parts) <= key < len(parts):
                return parts[key]
            if isinstance(node.slice, ast.Slice):
                return _slice(parts, node.slice) or element(it, owner, node, frame)
            return element(it, owner, node, frame)
        case Seq(box=box):
            return owner if isinstance(node.slice, ast.Slice) else held(it, box, box.element, node, frame)
        case Dct(box=box):
            if isinstance(key, str):
                entry = it.join(box.fields.get(key, NOTHING), box.element, node, frame.module)
                return held(it, box, entry, node, frame)
            result = box.element
            for value in list(box.fields.values()):
                result = it.join(result, value, node, frame.module)
            return held(it, box, result, node, frame)
        case Ref():
            several = several_results.one_of_several(it, owner, node, key, frame)
            return several if several is not None else operations.item(it, owner, node, key, frame)
        case Obj() if (found := implicit_methods.call(it, owner, ITEM, (PLAIN,), node, frame)) is not None:
            return found
        case Obj() | Func():
            it.block_all([owner], Stacked.READ_ON_HOST.reason("is subscripted"), node, frame.module)
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


def one_group(it: Interpreter, values: Sequence[Abstract], node: ast.AST, frame: Frame) -> Abstract:
    """One tree made of several values: all arrays in it share a representation."""
    tracked = [v for v in values if is_tracked(v)]
    if not tracked:
        return PLAIN
    if any(isinstance(v, Plain | Obj | Func) for v in values):
        it.block_all(values, MIXED_TREE, node, frame.module)
        return PLAIN
    group = it.group(tracked)
    return Ref(group, numpys=numpys_in(tracked)) if group is not None else PLAIN


def merged(it: Interpreter, tree: Abstract, more: Abstract, node: ast.AST, frame: Frame) -> Abstract:
    """A copy of a dictionary of arrays in which the entries of another are added, or put in place of its own."""
    if isinstance(more, Nothing) and not it.final:
        return tree
    if not isinstance(tree, Ref) or not is_tracked(more) or leaves_plain(more):
        it.block_all([tree, more], MIXED_TREE, node, frame.module)
        return PLAIN
    return one_group(it, [tree, more], node, frame)


def with_fields(it: Interpreter, owner: Ref, fields: Mapping[str, Abstract], node: ast.AST, frame: Frame) -> Abstract:
    """An object in which some fields hold these values."""
    for name, value in fields.items():
        field = owner.group.field(name)
        if not is_tracked(value) or leaves_plain(value):
            it.block_all([value], MIXED_TREE, node, frame.module)
            if not isinstance(value, Nothing):
                it.changed |= field.block(Blocker(NOT_ONE, frame.module, node, remedy=MADE))
        elif (joined := it.group_of(value)) is not None:
            it.changed |= field.unify(joined)
    return Ref(owner.group, numpys=max(owner.numpys, numpys_in(fields.values())))
