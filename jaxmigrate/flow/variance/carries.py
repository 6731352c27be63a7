"""What a loop starts from as a new array, the same for all devices, and then makes different on each.

JAX, where it checks what varies, wants a loop to give back what it takes: `pcast` makes such a start vary, too.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from jaxmigrate.flow.variance.frames import Frame
from jaxmigrate.flow.variance.lattice import AbstractValue, Level
from jaxmigrate.flow.variance.run import Run
from jaxmigrate.program.library import named, valued
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, External

NEW = named("new-array")
STARTS = {name: int(position) for name, position in valued("carry").items()}
NAMES = ("init", "init_val")


def noting(
    run: Run, node: ast.Call | None, frame: Frame | None, around: Callable[[AbstractValue], AbstractValue]
) -> Callable[[AbstractValue], AbstractValue]:
    """A round of a loop that notes, the first time it is run, what it makes of new arrays."""
    first = True

    def round_of(carry: AbstractValue) -> AbstractValue:
        nonlocal first
        given = around(carry)
        if first and node is not None and frame is not None and not run.quiet():
            start = _start(node, frame.module, run.resolver)
            if start is not None:
                run.reading.carries += [(frame.module, leaf) for leaf in _changed(start, given, frame.module, run)]
        first = False
        return given

    return round_of


def _start(node: ast.Call, module: Module, resolver: Resolver) -> ast.expr | None:
    """What a call of a loop is given to start from."""
    callee = resolver.value(node.func, module)
    if not isinstance(callee, External) or callee.name not in STARTS:
        return None
    if any(isinstance(one, ast.Starred) for one in node.args):
        return None
    position = STARTS[callee.name]
    by_name = [k.value for k in node.keywords if k.arg in NAMES]
    return next(iter([*by_name, *node.args[position : position + 1]]), None)


def _changed(start: ast.expr, given: AbstractValue, module: Module, run: Run) -> Iterator[ast.expr]:
    """The new arrays in a start for which a round gives what certainly differs."""
    start = run.resolver.assigned(start, module)
    if isinstance(start, ast.Tuple | ast.List):
        if given.parts is not None and len(given.parts) == len(start.elts):
            for one, part in zip(start.elts, given.parts, strict=True):
                yield from _changed(one, part, module, run)
    elif given.level == Level.YES and given.parts is None is given.fields and _is_new(start, module, run.resolver):
        yield start


def _is_new(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether an expression makes an array of nothing that varies, by its type: `zeros_like` of a block varies."""
    match node:
        case ast.Constant(value=int() | float()):
            return True
        case ast.UnaryOp(operand=operand):
            return _is_new(operand, module, resolver)
        case ast.Call():
            value = resolver.value(node, module)
            callee = value.callee if isinstance(value, Application) else None
            if not isinstance(callee, External) or callee.name not in NEW:
                return False
            content = node.args[1:2] if callee.name == "jax.numpy.full" else []
            if callee.name not in SHAPED:
                content = node.args[:1]
            return all(_is_number(one, module, resolver) for one in content)
    return False


SHAPED = named("new-array") - named("of-content")


def _is_number(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether something is a number that the program says, `-jnp.inf` among them."""
    match node:
        case ast.Constant():
            return True
        case ast.UnaryOp(operand=operand):
            return _is_number(operand, module, resolver)
        case ast.Attribute():
            value = resolver.value(node, module)
            return isinstance(value, External) and value.name.startswith(("jax.numpy.", "numpy.", "math."))
    return False
