"""Sizes of stacked arrays that host code reads: `x.shape[0]` is the number of devices, `x.shape[1]` a device's batch.

They can be said of the global array as well, so they keep nothing stacked: what is read is an operation, whose text
changes with the layout. `x.ndim` and `len(x)` are such sizes too, where `x` is certainly an array.
"""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout import class_index, last_axes, operations
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, Op
from jaxmigrate.flow.layout.values import Abstract, Blocker, Ref
from jaxmigrate.program.syntax import is_repeatable

READ = frozenset({"shape", "ndim", "size"})
PRODUCT = "product"  # the form of `x.shape[0] * x.shape[1]`
LENGTH = "len"  # of `len(x)`


def read(it: Interpreter, owner: Ref, node: ast.Attribute, frame: Frame) -> bool:
    """Notes that an attribute of an array is a size of it; says whether it certainly is one."""
    if not _is_of_array(it, owner, node.attr):
        return False
    if node.attr == "shape" and last_axes.read(it, owner, node, frame):
        return True
    place, form = _place(node, frame)
    if form in ("shape", "1:") and not is_repeatable(node.value):
        return False
    _note(it, owner, place, node.value, form, frame)
    return True


def length(it: Interpreter, owner: Abstract, node: ast.expr, frame: Frame) -> bool:
    """The same of `len(x)`."""
    if not (isinstance(owner, Ref) and owner.is_array and isinstance(node, ast.Call)):
        return False
    _note(it, owner, node, node.args[0], LENGTH, frame)
    return True


def shows_axis(op: Op) -> bool:
    """Whether a size that is read shows that the array has an axis behind that of the devices: else this raises."""
    if op.form == "shape":
        above = op.module.table.parents.get(op.node)
        targets = above.targets if isinstance(above, ast.Assign) else []
        return any(
            isinstance(t, ast.Tuple) and sum(not isinstance(e, ast.Starred) for e in t.elts) > 1 for t in targets
        )
    return op.form == PRODUCT or (op.form.rstrip(":").isdigit() and int(op.form.rstrip(":")) > op.form.endswith(":"))


def read_plain(it: Interpreter, node: ast.Attribute, frame: Frame) -> None:
    """Notes that code which may read the size of a stacked array reads one of something else as well."""
    place, _ = _place(node, frame)
    _beside(it, place, frame)


def length_of_plain(it: Interpreter, node: ast.expr, frame: Frame) -> None:
    """The same of `len(x)`."""
    _beside(it, node, frame)


def _beside(it: Interpreter, place: ast.expr, frame: Frame) -> None:
    it.operations.plain_ops.add(place)
    known = it.operations.ops.get(place)
    if known is not None:
        it.changed |= known.group.block(_mixed(place, frame))


def _mixed(place: ast.expr, frame: Frame) -> Blocker:
    reason = Stacked.MIXED.reason("has its size read in code that also runs on arrays without a device axis")
    return Blocker(reason, frame.module, place)


def _note(it: Interpreter, owner: Ref, place: ast.expr, operand: ast.expr, form: str, frame: Frame) -> None:
    it.changed |= owner.group.flatten()
    known = it.operations.ops.get(place)
    if known is not None and known.kind != "size":
        reason = Stacked.READ_ON_HOST.reason("has its size read in a way that fix cannot follow")
        it.changed |= owner.group.block(Blocker(reason, frame.module, place))
        return
    operations.record(it, "size", place, operand, owner.group, form, frame)
    if place in it.operations.plain_ops:
        it.changed |= owner.group.block(_mixed(place, frame))


def _is_of_array(it: Interpreter, owner: Ref, name: str) -> bool:
    """Whether an attribute is that of an array, and no field or property of an object of the project's."""
    if name not in READ or class_index.is_property(it, name) or class_index.declarations(it, name):
        return False
    return not owner.group.find().fields and not class_index.is_assigned(it, name)


def _place(node: ast.Attribute, frame: Frame) -> tuple[ast.expr, str]:
    """All that is said of a size, and how: the product of the first two, an index, or the shape as it is."""
    parents = frame.module.table.parents
    above = parents.get(node)
    if node.attr != "shape" or not (isinstance(above, ast.Subscript) and above.value is node):
        return node, node.attr
    product = parents.get(above)
    if isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult) and isinstance(above.ctx, ast.Load):
        sides = [_sized(side) for side in (product.left, product.right)]
        if sides[0] is not None and sides[1] is not None and {s[1] for s in sides if s} == {0, 1}:
            one, other = (s[0] for s in sides if s)
            if ast.dump(one) == ast.dump(other) and is_repeatable(one):
                return product, PRODUCT
    said = _index(above.slice)
    if said:
        return above, said
    return (node, "shape")


def _sized(node: ast.expr) -> tuple[ast.expr, int] | None:
    match node:
        case ast.Subscript(value=ast.Attribute(value=array, attr="shape"), slice=ast.Constant(value=int(place))) if (
            not isinstance(place, bool)
        ):
            return array, place
    return None


def _index(node: ast.expr) -> str:
    """`0`, `2` or `1:` of an index that can be said of the global array; empty of all else."""
    match node:
        case ast.Constant(value=int(place)) if not isinstance(place, bool) and place >= 0:
            return str(place)
        case ast.Slice(lower=ast.Constant(value=int(start)), upper=None, step=None) if (
            not isinstance(start, bool) and start >= 1
        ):
            return f"{start}:"
    return ""
