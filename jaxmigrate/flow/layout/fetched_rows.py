"""What host code fetches of a batch and puts in another shape at once: `np.array(x).reshape(-1, *x.shape[-3:])`.

Only the order of its elements counts then, which is the same with the device axis and without. A process fetches its
own rows. That each device has more than a single number is what a reader takes for granted.
"""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout import last_axes, operations
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.flow.layout.values import Abstract, Nothing, Numpys, Ref
from jaxmigrate.program.modules import Module
from jaxmigrate.program.trust import Assumption


def fetched(it: Interpreter, value: Abstract, node: ast.Call, frame: Frame) -> Abstract | None:
    """The value of a call that fetches an array to be put in another shape at once; None of any other."""
    if not it.trust.likely or len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
        return None
    kept = _kept(it, node, frame.module)
    if kept is None or isinstance(value, Nothing):
        return None
    array = node.args[0]
    if not isinstance(value, Ref):
        operations.merge(it, value, node, array, operations.FETCHED_ROWS, frame)
        return None
    if value.numpys is not Numpys.NO:
        return None
    if kept:
        it.lean([value], last_axes.more_than(array, kept, node, frame))
    else:
        says = f"`{ast.unparse(array)}` has more than one number for each device"
        it.lean([value], Assumption("likely", "splits", "", says, frame.module, node))
    part = value.part(value.shape, leaf=True)
    return operations.merge(it, part, node, array, operations.FETCHED_ROWS, frame)


def _kept(it: Interpreter, node: ast.Call, module: Module) -> int | None:
    """How many last axes of what is fetched the shape keeps that it gets before anything else looks at it."""
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


def _by_next_statement(it: Interpreter, statement: ast.Assign, name: str, module: Module) -> int | None:
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
    kept = _reshaped(it, call, whole, module)
    named = sum(isinstance(one, ast.Name) and one.id == name for one in ast.walk(call))
    shapes = sum(isinstance(one, ast.Attribute) and one.attr == "shape" for one in ast.walk(call))
    return kept if named == 1 + shapes else None


def _reshaped(it: Interpreter, call: ast.AST | None, whole: ast.expr, module: Module) -> int | None:
    """How many last axes a call keeps that gives an array other sizes; None where one tells of the device axis."""
    array, sizes = last_axes.reshaped(it, call, module)
    if array is not whole or not sizes:
        return None
    given = last_axes.given_to_fetch(it, whole, module)
    kept = last_axes.kept_by(sizes, [ast.unparse(one) for one in (whole, given) if one is not None])
    return kept or (0 if all(_is_size(one, whole) for one in sizes) else None)


def _is_size(node: ast.expr, whole: ast.expr) -> bool:
    """Whether a size does not come from the array itself."""
    names = {one.id for one in ast.walk(whole) if isinstance(one, ast.Name)}
    calls = any(isinstance(one, ast.Starred | ast.Call | ast.Attribute) and _is_shape(one) for one in ast.walk(node))
    return not calls and names.isdisjoint(one.id for one in ast.walk(node) if isinstance(one, ast.Name))


def _is_shape(node: ast.AST) -> bool:
    """Whether a part of a size may be the shape of an array."""
    return isinstance(node, ast.Starred) or (isinstance(node, ast.Attribute) and node.attr == "shape")
