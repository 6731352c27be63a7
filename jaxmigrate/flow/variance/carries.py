"""What a loop starts from that is of one type for all devices, and then makes different on each.

JAX, where it checks what varies, wants a loop to give back what it takes: `pcast` makes such a start vary, too.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from jaxmigrate.flow.variance.frames import Frame
from jaxmigrate.flow.variance.lattice import OF_VARYING_TYPE, AbstractValue, Level
from jaxmigrate.flow.variance.run import Run
from jaxmigrate.program.library import valued
from jaxmigrate.program.modules import Module
from jaxmigrate.program.order import reaching
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import External

STARTS = {name: int(position) for name, position in valued("carry").items()}
NAMES = ("init", "init_val")


def noting(
    run: Run, node: ast.Call | None, frame: Frame | None, around: Callable[[AbstractValue], AbstractValue]
) -> Callable[[AbstractValue], AbstractValue]:
    """A round of a loop that notes, the first time it is run, what it makes vary that did not."""
    first = True

    def round_of(carry: AbstractValue) -> AbstractValue:
        nonlocal first
        given = around(carry)
        if first and node is not None and frame is not None and not run.quiet():
            start = _start(node, frame.module, run.resolver)
            if start is not None:
                found = dict.fromkeys(_changed(start, carry, given, frame.module, run.resolver))
                run.reading.carries += [(frame.module, leaf) for leaf in found]
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


def _changed(
    start: ast.expr, carry: AbstractValue, given: AbstractValue, module: Module, resolver: Resolver
) -> Iterator[ast.expr]:
    """The expressions of a start whose values do not vary, for which a round gives what certainly does."""
    pairs = _parts(carry, given)
    if not pairs:
        of_one_type = carry.level == Level.NO and not carry.host and carry.marks.isdisjoint(OF_VARYING_TYPE)
        if of_one_type and given.level == Level.YES:
            yield _made(start, module)
        return
    display = resolver.assigned(start, module)
    whole = isinstance(display, ast.Tuple | ast.List) and not any(isinstance(e, ast.Starred) for e in display.elts)
    written = display.elts if whole and isinstance(display, ast.Tuple | ast.List) else []
    for number, (one, other) in enumerate(pairs):
        leaf = written[number] if len(written) == len(pairs) else start
        yield from _changed(leaf, one, other, module, resolver)


def _parts(carry: AbstractValue, given: AbstractValue) -> list[tuple[AbstractValue, AbstractValue]]:
    """What the two have in the same places; nothing where they are not known to be made alike."""
    if carry.parts is not None and given.parts is not None and len(carry.parts) == len(given.parts):
        return list(zip(carry.parts, given.parts, strict=True))
    if carry.fields is not None and given.fields is not None and carry.fields.keys() == given.fields.keys():
        return [(one, given.fields[name]) for name, one in carry.fields.items()]
    return []


def _made(start: ast.expr, module: Module) -> ast.expr:
    """Where a start is made, if that is a call or a number behind a name."""
    if not isinstance(start, ast.Name):
        return start
    holder = module.table.scope_of[start].lookup(start.id)
    bindings = reaching(holder.bindings[start.id], start, module) if holder is module.table.scope_of[start] else []
    made = bindings[0].value if len(bindings) == 1 and not bindings[0].path else None
    return made if isinstance(made, ast.Call | ast.Constant | ast.UnaryOp) else start
