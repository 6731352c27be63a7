"""Which arrays are NumPy's where host code reads them: it has dtypes of its own, and numbers that are no arrays.

`np.stack([0.1] * n)` holds 64 bits and becomes an array of JAX with 32 once it is global, so that what host code reads
of it stays as it was only in the stacked form. What was fetched, `np.asarray(loss)[0]`, is NumPy's in both programs,
but one number of it is no array: `round` takes it, a set holds it, and `+=` makes another.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from jaxmigrate.flow.layout import examples, made_arrays
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.identities import given_back
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.kinds import REARRANGES, SPLITS
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.flow.layout.values import Abstract, Dct, Nothing, Numpys, Ref, Seq, Tup, is_tracked, numpys_in
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.trees import ANY_TREE_MAPS
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Application, External, Function, Value

FETCHES = named("fetches")
DEEPEST = 6  # calls within calls


def fetched(it: Interpreter, value: Abstract, node: ast.AST, frame: Frame, path: tuple[str, ...] = ()) -> Abstract:
    """The same arrays as NumPy's."""
    if not is_tracked(value) or len(path) > DEEPEST:
        return value
    match value:
        case Ref():
            return replace(value, numpys=max(value.numpys, Numpys.FETCHED))
        case Tup(parts=parts):
            each = (fetched(it, part, node, frame, (*path, str(i))) for i, part in enumerate(parts))
            return Tup(tuple(each), value.names)
        case Seq(box=held) | Dct(box=held):
            box = it.box("fetched", node, path)
            it.fill(box, fetched(it, held.element, node, frame, (*path, "[]")), node, frame.module)
            for name, one in list(held.fields.items()):
                it.fill(box, fetched(it, one, node, frame, (*path, name)), node, frame.module, name)
            return type(value)(box)
    return value


def keeps_type(
    it: Interpreter, value: Abstract, what: str, node: ast.AST, frame: Frame, operand: ast.expr | None = None
) -> bool:
    """Whether arrays have the type that they had: those stay stacked that host code reads while they are NumPy's.

    Of an `operand` a reader may take it for granted.
    """
    if isinstance(value, Nothing) or numpys_in([value]) is not Numpys.MADE:
        return True
    if operand is not None and is_narrow(it, value, operand, frame):
        return True
    reason = Stacked.READ_ON_HOST.reason(f"{what} on the host while it may be NumPy's, with dtypes of its own")
    it.block_all([value], reason, node, frame.module)
    return False


def is_narrow(it: Interpreter, value: Abstract, operand: ast.expr, frame: Frame) -> bool:
    """Whether a reader takes NumPy's arrays for such as JAX keeps as they are, so that it may hold them meanwhile."""
    if not it.trust.likely or numpys_in([value]) is not Numpys.MADE:
        return False
    says = f"JAX keeps the numbers of `{ast.unparse(operand)}` as they are: none needs more than 32 bits"
    it.lean([value], Assumption("likely", "splits", "", says, frame.module, operand))
    return True


def is_example(it: Interpreter, value: Abstract, node: ast.expr, frame: Frame) -> bool:
    """Whether a reader takes NumPy's arrays for examples, of which a network's parameters need the shapes alone."""
    call = examples.initializing(node, frame.module) if it.trust.likely else None
    if call is None or numpys_in([value]) is not Numpys.MADE:
        return False
    says = f"`{ast.unparse(call.func)}` gives the same for `{ast.unparse(node)}` as an array of JAX"
    it.lean([value], Assumption("likely", "splits", "", says, frame.module, node))
    return True


def made(it: Interpreter, node: ast.expr, module: Module) -> Numpys:
    """Whether what makes stacked arrays may make them of NumPy's."""
    return Numpys.NO if _gives_jaxs(it, node, module, DEEPEST) else Numpys.MADE


def _gives_jaxs(it: Interpreter, node: ast.expr, module: Module, depth: int) -> bool:
    """Whether an expression certainly gives arrays of JAX."""
    if depth == 0:
        return False
    match node:
        case ast.Call(func=func, args=arguments):
            values = it.resolver.values(func, module)
            if any(it.idioms.declared(node, one) for one in values if isinstance(one, Function)):
                return True
            return bool(values) and all(_call_gives_jaxs(it, one, func, arguments, module, depth) for one in values)
        case ast.BinOp(left=left, right=right):
            return any(_gives_jaxs(it, one, module, depth - 1) for one in (left, right))
        case ast.Subscript(value=owner):
            return _gives_jaxs(it, owner, module, depth - 1)
        case ast.Name() | ast.Dict() | ast.DictComp() if entries := made_arrays.entries(node, module):
            return all(_gives_jaxs(it, one, module, depth - 1) for one in entries)
        case ast.Name() | ast.Attribute():
            values = it.resolver.values(node, module)
            return bool(values) and all(
                isinstance(one, Application) and _gives_jaxs(it, one.node, one.module, depth - 1) for one in values
            )
    return False


def _call_gives_jaxs(
    it: Interpreter, callee: Value, func: ast.expr, arguments: list[ast.expr], module: Module, depth: int
) -> bool:
    match callee:
        case External(name=name) if name in ANY_TREE_MAPS and arguments:
            mapped = it.resolver.values(arguments[0], module)
            return bool(mapped) and all(
                _call_gives_jaxs(it, one, arguments[0], arguments[1:], module, depth - 1) for one in mapped
            )
        case External(name=name) if name in SPLITS | REARRANGES:
            return bool(arguments) and _gives_jaxs(it, arguments[0], module, depth - 1)
        case External(name=name):
            return not name.startswith("numpy.") and name not in FETCHES
        case Application(node=node) if node in it.sites:
            return True
        case Function(node=node):
            returned = node.body if isinstance(node, ast.Lambda) else given_back(callee, it.resolver)
            return returned is not None and _gives_jaxs(it, returned, callee.module, depth - 1)
    return isinstance(func, ast.Attribute) and _gives_jaxs(it, func.value, module, depth - 1)
