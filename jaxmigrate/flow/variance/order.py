"""What is done to gradients before they are reduced, and by one device's values to what was reduced; and to variances.

For rules alone. A mean of what each device has scaled by a norm of its own is not the mean scaled by its norm, and what
each device decides about a step that all take lets them take unlike steps.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from jaxmigrate.flow.variance.frames import Arguments
from jaxmigrate.flow.variance.lattice import (
    AS_SUMMED,
    AVERAGED,
    BESIDE,
    CENTRED,
    COMMON_SQUARE,
    DATA,
    DEVIATION,
    DEVICES,
    HALF,
    INDEXED,
    MEAN_SPREAD,
    NORMED,
    OWN_MEAN,
    RESIZED,
    SHARE,
    SPREAD,
    SQUARED,
    STEP,
    STEPPED,
    UNREDUCED,
    AbstractValue,
    Level,
    leaves_of,
    replace,
)
from jaxmigrate.flow.variance.run import Run
from jaxmigrate.program.syntax import last_name

CHOOSING = frozenset({"jax.numpy.where", "jax.lax.select"})
VARIANCES = frozenset({"var", "std", "nanvar", "nanstd"})
_BRIEF = frozenset({CENTRED, SQUARED, OWN_MEAN, DEVIATION, COMMON_SQUARE})  # what another operation makes untrue
MEANS = frozenset({"mean", "nanmean", "average"})
SPREADING = VARIANCES | MEANS | {"square"}
CUTS = frozenset({"dynamic_slice", "dynamic_slice_in_dim", "dynamic_index_in_dim"})
NORMS = frozenset({"norm", "global_norm", "vdot", "dot", "sum", "max"})
OF_A_DEVICE = frozenset({UNREDUCED, BESIDE, DATA})
KEEPS_SPREAD = frozenset(
    {"sqrt", "rsqrt", "maximum", "clip", "reciprocal", "expand_dims", "squeeze", "stop_gradient", "mean", "nanmean"}
)
KEEPS = re.compile(r"^self\._?\w+$|update|ema|moving|running|track|accum", re.IGNORECASE)  # of a state, by its name
MESSAGES = {"chosen": "which of two states is kept", "scaled": "how far a step goes"}


def of_function(run: Run, name: str, result: AbstractValue, node: ast.expr | None) -> AbstractValue:
    """What a function of arrays gives."""
    before = result.marks
    if before and name not in KEEPS_SPREAD and (not before.isdisjoint(_BRIEF) or _spreads(result)):
        result = replace(result, marks=(before - _BRIEF).difference(_spreads(result)))
    if result.level != Level.NO and name in SPREADING:
        if name in VARIANCES or DEVIATION in before:
            return _spread(run, result, node)
        if name in MEANS:
            half = _half(run, node) if SQUARED in before else frozenset()
            return replace(result, marks=(result.marks - {CENTRED, SQUARED}) | {OWN_MEAN} | half)
        if CENTRED in before:
            return replace(result, marks=result.marks | {CENTRED, SQUARED})
    if name == "square" and AVERAGED in before and result.level == Level.NO:
        return replace(result, marks=result.marks | {COMMON_SQUARE})
    if name == "clip" and result.gradient and result.level != Level.NO:
        return replace(result, marks=result.marks | {RESIZED})
    return result


def _half(run: Run, node: ast.expr | None) -> frozenset[str]:
    """The mark of a statistic that a device has for itself, though it is made with one of all devices."""
    module = run.modules[-1] if run.modules else run.home
    if node is None or module is None or run.quiet():
        return frozenset()
    mark = f"{HALF} {node.lineno}:{node.col_offset}"
    run.reading.halves[mark] = (module, node)
    return frozenset([mark])


def _half_at(run: Run, spread: AbstractValue) -> None:
    """Notes variances of a device's own by which is divided what lies apart from the mean of all."""
    for mark in _spreads(spread):
        if mark in run.reading.variances and not run.quiet():
            run.reading.halves[HALF + mark] = run.reading.variances[mark]


def join_halves(run: Run, value: AbstractValue) -> None:
    """Something is reduced, or its gradient taken, which is reduced later."""
    run.reading.joined.update(mark for one in leaves_of(value) for mark in one.marks if mark.startswith(HALF))


def hand(run: Run, call: ast.Call, values: Sequence[AbstractValue]) -> None:
    """A call is handed means, which others of the same function may have of all devices."""
    module, function = (run.modules[-1], run.active[-1]) if run.modules and run.active else (None, None)
    if module is None or function is None or run.quiet() or len(call.args) != len(values):
        return
    name = ast.unparse(call.func)
    if not KEEPS.search(name):
        return
    for number, (node, value) in enumerate(zip(call.args, values, strict=True)):
        if OWN_MEAN in value.marks or _spreads(value) or (value.level == Level.NO and AVERAGED in value.marks):
            run.reading.handed.setdefault((function, name, number), []).append((value, module, node))


def _spreads(value: AbstractValue) -> list[str]:
    return [mark for mark in value.marks if mark.startswith(SPREAD)]


def is_spread(value: AbstractValue) -> bool:
    """Whether a value is a variance of what one device has."""
    return value.level != Level.NO and bool(_spreads(value))


def _spread(run: Run, value: AbstractValue, node: ast.expr | None) -> AbstractValue:
    module = run.modules[-1] if run.modules else run.home
    if node is None or module is None:
        return value
    mark = f"{SPREAD} {node.lineno}:{node.col_offset}"
    if not run.quiet():
        run.reading.variances[mark] = (module, node)
    return replace(value, marks=value.marks | {mark})


def normed(run: Run, name: str, result: AbstractValue, node: ast.expr | None) -> AbstractValue:
    """A number made of gradients that nothing has reduced.

    A norm in a loss, as a penalty on gradients by the input, is a term of it: what is made of its gradient is meant.
    """
    if name not in NORMS or UNREDUCED not in result.marks or result.level == Level.NO or run.batched:
        return result
    if run.differentiating:
        return result
    if not isinstance(node, ast.Call) or any(k.arg == "axis" for k in node.keywords):
        return result
    module = run.modules[-1] if run.modules else run.home
    mark = f"{NORMED} {node.lineno}:{node.col_offset}"
    if module is not None and not run.quiet():
        run.reading.norms[mark] = (module, node)
    return replace(result, marks=result.marks | {mark})


def cut(run: Run, name: str, arguments: Arguments, node: ast.Call | None) -> None:
    """Notes where each device takes its own slice of its own gradients, without those of the others."""
    operand = arguments.find(0, "operand")
    if name not in CUTS or operand is None or run.batched or node is None or run.quiet():
        return
    leaves = [leaf for one in arguments.all() if one is not operand for leaf in leaves_of(one)]
    own = operand.gradient and UNREDUCED in operand.marks and operand.level != Level.NO
    module = run.modules[-1] if run.modules else run.home
    if own and module is not None and any(INDEXED in one.marks and one.level == Level.YES for one in leaves):
        run.reading.cut.append((module, node))


def is_normed(value: AbstractValue) -> bool:
    """Whether a number is made of the norm of a device's own gradients."""
    return not value.gradient and value.level != Level.NO and any(mark.startswith(NORMED) for mark in value.marks)


def of_reduction(value: AbstractValue) -> frozenset[str]:
    """The marks of what a sum or mean over the devices gives."""
    marks = frozenset([STEP] if value.gradient else [])
    if value.gradient and UNREDUCED in value.marks:
        marks |= {STEPPED}
    if is_spread(value):
        marks |= {MEAN_SPREAD + one for one in _spreads(value)}
    return marks


def of_operation(
    run: Run, op: ast.operator, node: ast.expr, left: AbstractValue, right: AbstractValue, result: AbstractValue
) -> AbstractValue:
    """What an operator gives."""
    marks = result.marks
    if not isinstance(op, ast.Sub) and not (marks or left.marks or right.marks):
        return result
    if not isinstance(op, ast.Add | ast.Pow):
        kept = isinstance(op, ast.Mult | ast.Div) and not (DEVIATION in left.marks and is_spread(right))
        marks = (marks - _BRIEF).difference(() if kept else _spreads(result))  # what is normalised is no variance
    if isinstance(op, ast.MatMult):
        marks -= {STEPPED}
    if isinstance(op, ast.Add | ast.Sub):
        marks -= {RESIZED}  # beside others, as in a step that looks for flat minima, it is no clipping
    marks = _weighed(op, left, right, marks)
    marks = _deviations(run, op, node, left, right, marks) | _apart(run, op, node, left, right)
    if isinstance(op, ast.Sub) and AVERAGED in right.marks and left.level != Level.NO:
        marks |= {CENTRED}
    if isinstance(op, ast.Div | ast.Mult):
        if CENTRED in left.marks and is_spread(right) and isinstance(op, ast.Div):
            _half_at(run, right)
        if CENTRED in left.marks:
            run.reading.spreads.update(mark for mark in right.marks if mark.startswith(MEAN_SPREAD))
        if any(_is_resized(run, *pair) for pair in ((left, right), (right, left))):
            marks |= {RESIZED}
        if any(_is_stretched(*pair) for pair in ((left, right), (right, left))):
            _note(run, node, "scaled")
    if isinstance(op, ast.Div) and AS_SUMMED in left.marks and DEVICES in right.marks:
        marks |= {AVERAGED}
    return result if marks == result.marks else replace(result, marks=marks)


def _weighed(op: ast.operator, left: AbstractValue, right: AbstractValue, marks: frozenset[str]) -> frozenset[str]:
    """Without those of norms, where one is divided by another: a weight between two losses, and no clipping."""
    if isinstance(op, ast.Div) and is_normed(left) and is_normed(right):
        return frozenset(mark for mark in marks if not mark.startswith(NORMED))
    return marks


def _is_resized(run: Run, one: AbstractValue, other: AbstractValue) -> bool:
    return one.gradient and UNREDUCED in one.marks and is_normed(other) and not run.batched


def _is_stretched(one: AbstractValue, other: AbstractValue) -> bool:
    return STEPPED in one.marks and one.level == Level.NO and _is_of_a_device(other) and not other.gradient


def _deviations(
    run: Run, op: ast.operator, node: ast.expr, left: AbstractValue, right: AbstractValue, marks: frozenset[str]
) -> frozenset[str]:
    """The marks of what lies apart from a mean of one device's, and of its squares."""
    if left.level == Level.NO:
        return marks
    if isinstance(op, ast.Sub) and OWN_MEAN in right.marks and OWN_MEAN not in left.marks:
        marks |= {DEVIATION}
    squared = _is_square(op, left, right)
    if squared and CENTRED in left.marks:
        marks |= {CENTRED, SQUARED}
    if squared and DEVIATION in left.marks:
        marks = (marks - {DEVIATION}) | _spread(run, left, node).marks - {DEVIATION}
    if isinstance(op, ast.Sub) and _is_written_out(node):
        marks |= _spread(run, left, node).marks
    return marks


def _apart(run: Run, op: ast.operator, node: ast.expr, left: AbstractValue, right: AbstractValue) -> frozenset[str]:
    """The marks of the square of a mean of all devices, and of a device's own mean square less such: a variance."""
    if AVERAGED in left.marks and left.level == Level.NO and _is_square(op, left, right):
        return frozenset([COMMON_SQUARE])
    if isinstance(op, ast.Sub) and OWN_MEAN in left.marks and left.level != Level.NO and COMMON_SQUARE in right.marks:
        return _half(run, node)
    parts = isinstance(op, ast.Sub) and SHARE in left.marks and left.level != Level.NO and right.level == Level.NO
    if parts and isinstance(node, ast.BinOp) and _squared(node.right) is not None:
        return _half(run, node)  # sum(x ** 2) / n - (psum(sum(x)) / n) ** 2
    return frozenset()


def _is_square(op: ast.operator, left: AbstractValue, right: AbstractValue) -> bool:
    """Whether an operation squares a value, or multiplies it by one that is alike."""
    return isinstance(op, ast.Pow) or (isinstance(op, ast.Mult) and left == right)


def _is_written_out(node: ast.expr) -> bool:
    """Whether this is `mean(x ** 2) - mean(x) ** 2`."""
    if not isinstance(node, ast.BinOp):
        return False
    squares, square = node.left, _squared(node.right)
    of = _averaged(squares)
    return square is not None and _averaged(square) is not None and of is not None and _squared(of) is not None


def _averaged(node: ast.expr) -> ast.expr | None:
    """What a mean is taken of."""
    if not isinstance(node, ast.Call) or last_name(node.func) not in MEANS:
        return None
    return node.args[0] if node.args else node.func.value if isinstance(node.func, ast.Attribute) else None


def _squared(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=2)):
            return base
        case ast.Call(func=function, args=[base]) if last_name(function) == "square":
            return base
        case ast.BinOp(left=left, op=ast.Mult(), right=right) if ast.dump(left) == ast.dump(right):
            return left
    return None


def chosen(run: Run, name: str, arguments: Arguments, node: ast.Call | None, result: AbstractValue) -> AbstractValue:
    """What `where(test, new, old)` gives."""
    test = arguments.find(0, "condition", "which", "pred")
    if name in CHOOSING and test is not None:
        choose(run, test, [one for one in arguments.all() if one is not test], node)
    return result


def choose(run: Run, test: AbstractValue, ways: list[AbstractValue], node: ast.Call | None) -> None:
    """One of several states, by what a device finds."""
    if node is None or not _is_of_a_device(test) or run.batched:
        return
    if any(_is_step(one) for one in ways) and not any(one.gradient for one in ways):
        _note(run, node, "chosen")


def _is_step(value: AbstractValue) -> bool:
    """Whether something in a value is a state after a step that all devices take together."""
    held = [*(value.parts or ()), *(value.fields or {}).values()]
    return (STEPPED in value.marks and not _is_of_a_device(value)) or any(map(_is_step, held))


def _is_of_a_device(value: AbstractValue) -> bool:
    return value.level != Level.NO and not value.reduced and not value.marks.isdisjoint(OF_A_DEVICE)


def _note(run: Run, node: ast.expr, what: str) -> None:
    module = run.modules[-1] if run.modules else run.home
    if module is not None and not run.quiet():
        run.reading.decided.append((module, node, MESSAGES[what]))
