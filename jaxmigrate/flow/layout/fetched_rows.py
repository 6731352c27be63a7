"""What host code fetches of a batch and puts in another shape at once: `np.array(x).reshape(-1, *x.shape[-3:])`.

Only the order of its elements counts then, which is the same with the device axis and without. A process fetches its
own rows. That each device has more than a single number is what a reader takes for granted.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxmigrate.flow.layout import operations
from jaxmigrate.flow.layout.idioms import RESHAPES
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.flow.layout.values import Abstract, Nothing, Numpys, Ref
from jaxmigrate.program.modules import Module
from jaxmigrate.program.trust import Assumption


def fetched(it: Interpreter, value: Abstract, node: ast.Call, frame: Frame) -> Abstract | None:
    """The value of a call that fetches an array to be put in another shape at once; None of any other."""
    if not it.trust.likely or len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
        return None
    sizes = _sizes(it, node, frame.module)
    if sizes is None or isinstance(value, Nothing):
        return None
    if not isinstance(value, Ref):
        operations.merge(it, value, node, node.args[0], operations.FETCHED_ROWS, frame)
        return None
    if value.numpys is not Numpys.NO:
        return None
    array, most = ast.unparse(node.args[0]), max(map(_kept, sizes), default=0)
    says = f"`{array}` has more than {most} axes" if most else f"`{array}` has more than one number for each device"
    it.lean([value], Assumption("likely", "splits", "", says, frame.module, node))
    part = value.part(value.shape, leaf=True)
    return operations.merge(it, part, node, node.args[0], operations.FETCHED_ROWS, frame)


def _sizes(it: Interpreter, node: ast.Call, module: Module) -> Sequence[ast.expr] | None:
    """The sizes of the shape that what is fetched gets before anything else looks at it."""
    parents = module.table.parents
    parent = parents.get(node)
    if isinstance(parent, ast.Attribute):
        return _reshaped(it, parents.get(parent), node, module)
    if isinstance(parent, ast.Call):
        return _reshaped(it, parent, node, module)
    match parent:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return _by_next_statement(it, parent, name, module)
    return None


def _by_next_statement(it: Interpreter, statement: ast.Assign, name: str, module: Module) -> Sequence[ast.expr] | None:
    """The same where a name gets what is fetched, and is given what comes of it by the next statement."""
    block = module.table.block_of(statement)
    match block[block.index(statement) + 1 : block.index(statement) + 2]:
        case [ast.Assign(targets=[ast.Name(id=again)], value=ast.Call() as call)] if again == name:
            pass
        case _:
            return None
    if any(name in scope.outer_names for scope in module.table.own_scope.values()):
        return None
    whole = call.func.value if isinstance(call.func, ast.Attribute) else None
    if not (isinstance(whole, ast.Name) and whole.id == name):
        whole = call.args[0] if call.args else None
    if not (isinstance(whole, ast.Name) and whole.id == name):
        return None
    sizes = _reshaped(it, call, whole, module)
    named = [one for one in ast.walk(call) if isinstance(one, ast.Name) and one.id == name]
    return sizes if sizes is not None and len(named) == 1 + sum(map(bool, map(_kept, sizes))) else None


def _reshaped(it: Interpreter, call: ast.AST | None, whole: ast.expr, module: Module) -> Sequence[ast.expr] | None:
    """The sizes that a call gives an array, none of which tells where its device axis is."""
    match call:
        case ast.Call(func=ast.Attribute(value=value, attr="reshape"), args=sizes, keywords=[]) if value is whole:
            pass
        case ast.Call(func=func, args=[first, *sizes], keywords=[]) if first is whole:
            if it.idioms.external(func, module) not in RESHAPES:
                return None
        case _:
            return None
    if len(sizes) == 1 and isinstance(sizes[0], ast.Tuple | ast.List):
        sizes = sizes[0].elts
    return sizes if sizes and all(_is_size(one, whole) for one in sizes) else None


def _is_size(node: ast.expr, whole: ast.expr) -> bool:
    """Whether a size does not come from the array itself, but for those of its last axes."""
    if _kept(node):
        return isinstance(whole, ast.Name) and ast.unparse(node).startswith(f"*{whole.id}.shape[")
    names = {one.id for one in ast.walk(whole) if isinstance(one, ast.Name)}
    calls = any(isinstance(one, ast.Starred | ast.Call | ast.Attribute) and _is_shape(one) for one in ast.walk(node))
    return not calls and names.isdisjoint(one.id for one in ast.walk(node) if isinstance(one, ast.Name))


def _is_shape(node: ast.AST) -> bool:
    """Whether a part of a size may be the shape of an array."""
    return isinstance(node, ast.Starred) or (isinstance(node, ast.Attribute) and node.attr == "shape")


def _kept(node: ast.expr) -> int:
    """k of `*x.shape[-k:]`; 0 of anything else."""
    match node:
        case ast.Starred(
            value=ast.Subscript(
                value=ast.Attribute(value=ast.Name(), attr="shape"),
                slice=ast.Slice(
                    lower=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(k))), upper=None, step=None
                ),
            )
        ):
            return k
    return 0
