"""Means that are summed over devices: such a sum is too large by their number, unless something divides it later.

For rules alone. A mean, or the gradient of one, has the mark MEAN for as long as nothing but constants scales it; the
sum over devices of one has a mark of its own, by which `Reading.scaled` says that it was divided, or may have been.
SHARE is the mark of what makes such a mean only once it is summed: a device's own sum, divided by the count of all.
"""

from __future__ import annotations

import ast
import re

from jaxmigrate.flow.variance import order
from jaxmigrate.flow.variance.frames import Arguments
from jaxmigrate.flow.variance.lattice import (
    AS_SUMMED,
    AVERAGED,
    CLIPPING,
    DEVICES,
    INDEXED,
    MEAN,
    MEAN_TOTAL,
    OF_ONE,
    OWN_LENGTH,
    PASSING,
    SHAPED,
    SHARE,
    SMALL,
    STEPPED,
    SUMMED,
    TOTAL,
    TOTALS,
    AbstractValue,
    Level,
    mapped,
    replace,
)
from jaxmigrate.flow.variance.run import Run
from jaxmigrate.flow.variance.summary import Mismatch, Reading, Reduction
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Constant

CHOOSING = ("jax.numpy.where", "jax.lax.select")
PASSING_ON = frozenset({AVERAGED, AS_SUMMED, DEVICES})
SCALING = frozenset(
    {"divide", "true_divide", "div", "multiply", "mul", "average", "mean", "nanmean", "where", "select"}
)
LIMITS = frozenset({"minimum", "clip"})  # of a norm: `jnp.minimum(1, most / norm)`
KEEPING = frozenset({"sum", "nansum", "maximum", "astype", "asarray", "stop_gradient"})  # what a sum of all is
NORMS = frozenset(
    {"sqrt", "square", "abs", "absolute", "norm", "global_norm", "vdot", "isfinite", "isnan", "log", "exp"}
)
ROUNDS = re.compile("micro|accum")
AVERAGING = frozenset({"mean", "nanmean"})
SUMS = frozenset({TOTAL, TOTALS, MEAN_TOTAL})
OF_EACH = frozenset({MEAN, SHARE})
BATCH = re.compile(r"(^|[._])(global_|local_|total_)?(batch_?size|bs)$|\bshape\[0\]$")
COUNTS = re.compile(r"/|num|count|size|scale|inv|dev|world|len|shape|total|norm|(^|\W|_)n(_|\W|$)")
_OF_GRADIENTS = " gradients"
RATES = re.compile(r"\b(lr|learning_rate|alpha|eta|step_size|rate)\b")


def sum_of_means(node: ast.AST, *, gradients: bool = False) -> str:
    """The mark of what one call sums; its `gradients` have their own: what divides a logged loss divides no update."""
    what = _OF_GRADIENTS if gradients else ""
    return f"{SUMMED} {getattr(node, 'lineno', 0)}:{getattr(node, 'col_offset', 0)}{what}"


def is_scaled(reduction: Reduction, reading: Reading) -> bool:
    """Whether something may divide or multiply what a reduction gave, or a part of it."""
    return any(sum_of_means(reduction.node, gradients=one) in reading.scaled for one in (False, True))


def of_function(
    run: Run, name: str, result: AbstractValue, is_whole: bool, node: ast.expr | None = None
) -> AbstractValue:
    """What a function of JAX gives, by its last name; `is_whole`: of all axes of an array."""
    result = order.of_function(run, name, result, node)
    if not result.marks.isdisjoint(PASSING):
        result = replace(result, marks=result.marks - PASSING)
    if OWN_LENGTH in result.marks:
        result = replace(result, marks=result.marks - {OWN_LENGTH})
    if name not in KEEPING and result.marks & SUMS:
        result = replace(result, marks=result.marks - SUMS)
    if name in ("sum", "nansum") and is_whole and result.level != Level.NO and INDEXED not in result.marks:
        return replace(result, marks=(result.marks - OF_EACH) | {TOTAL})
    is_own = result.level != Level.NO and INDEXED not in result.marks
    if name in AVERAGING and (is_whole or result.gradient) and is_own:
        note(run, result)
        return replace(result, marks=_without(result) | {MEAN})
    if name in AVERAGING and result.level == Level.NO:  # over steps or values of what is the same on all devices
        return replace(result, marks=result.marks - OF_EACH)
    if name in NORMS:
        return replace(result, marks=_without(result))
    if name in LIMITS:
        return replace(result, marks=_without(result) | {CLIPPING})
    if name in SCALING:
        note(run, result)
        return replace(result, marks=_without(result))
    if name in ("sum", "nansum", "dot", "matmul", "einsum", "tensordot") and result.marks & OF_EACH:
        return replace(result, marks=result.marks - OF_EACH)
    return result


def of_one(name: str, arguments: Arguments, node: ast.Call | None, result: AbstractValue) -> AbstractValue:
    """What a function of arrays gives, marked where it chooses what one device has: `where(index == 0, x, 0)`."""
    test = arguments.find(0, "condition", "which", "pred")
    if name not in CHOOSING or node is None or len(node.args) != 3 or test is None:
        return result
    zeros = [one for one in node.args[1:] if _is_zero(one)]
    if INDEXED not in test.marks or not isinstance(node.args[0], ast.Compare) or len(zeros) != 1:
        return result
    return replace(result, marks=result.marks | {OF_ONE})


def _is_zero(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return value == 0
        case ast.Call(func=function):
            return last_name(function) in ("zeros_like", "zeros")
    return False


def of_operation(
    run: Run, op: ast.operator, node: ast.expr, left: AbstractValue, right: AbstractValue, result: AbstractValue
) -> AbstractValue:
    """What an operator makes of means and their sums."""
    result = order.of_operation(run, op, node, left, right, result)
    small = _once_more(run, op, node, left, right)
    result = _without_length(op, left, right, replace(result, marks=(result.marks - PASSING_ON) | small))
    if result.marks & SUMS and not isinstance(op, ast.Add | ast.Sub):
        result = replace(result, marks=result.marks - SUMS)
        if isinstance(op, ast.Div) and (quotient := _quotient(run, node, left, right, result)) is not None:
            return quotient
    if isinstance(op, ast.Add | ast.Sub):  # a loss with a penalty is one, too
        result = replace(result, marks=result.marks | ((left.marks | right.marks) & OF_EACH))
    if not any(mark in OF_EACH or mark.startswith(SUMMED) for mark in result.marks):
        return result
    if _is_by_batch_size(op, node, right):
        run.reading.misdivided.update(_sums(left))
    if isinstance(op, ast.Div) and not _has_marks(left):
        return replace(result, marks=_without(result))  # divided by it
    if isinstance(op, ast.Mult) and (CLIPPING in left.marks or CLIPPING in right.marks):
        return replace(result, marks=result.marks - {CLIPPING})
    if isinstance(op, ast.Add) or (isinstance(op, ast.Div) and _is_of_rounds(node)):
        return result
    if isinstance(op, ast.Mult) and (_has_rate(node) or _is_by_number(node, left, right)):
        return result
    if isinstance(op, ast.Sub):
        apply(run, right)
        return replace(result, marks=_without(result) | (result.marks & OF_EACH))
    if isinstance(op, ast.Div | ast.Mult) and not (isinstance(op, ast.Div) and SHAPED in right.marks):
        note(run, result)  # the length of what is equal everywhere is no number of devices
    return replace(result, marks=_without(result))


def _once_more(run: Run, op: ast.operator, node: ast.expr, left: AbstractValue, right: AbstractValue) -> frozenset[str]:
    """The mark of a mean over the devices that is divided by their number once more, until something enlarges it."""
    if isinstance(op, ast.Mult) and DEVICES in left.marks | right.marks:
        enlarge(run, left)
        enlarge(run, right)
    module = run.modules[-1] if run.modules else run.home
    if not isinstance(op, ast.Div) or AVERAGED not in left.marks or DEVICES not in right.marks or module is None:
        return frozenset()
    mark = small_at(node)
    if not run.quiet():
        run.reading.overdivided.append((module, node, mark))
    return frozenset([mark])


def small_at(node: ast.AST) -> str:
    """The mark of what is divided by the number of devices once too often, and where."""
    return f"{SMALL} {getattr(node, 'lineno', 0)}:{getattr(node, 'col_offset', 0)}"


def enlarge(run: Run, value: AbstractValue) -> None:
    """Something is added up over the devices, or multiplied by their number: it is not too small."""
    run.reading.enlarged.update(mark for mark in value.marks if mark.startswith(SMALL))


def _is_by_batch_size(op: ast.operator, node: ast.expr, right: AbstractValue) -> bool:
    """Whether something is divided by the length of a device's own block, or by what is called the size of a batch."""
    by = node.right if isinstance(op, ast.Div) and isinstance(node, ast.BinOp) else None
    return by is not None and (_is_own_length(right) or BATCH.search(ast.unparse(by).lower()) is not None)


def _quotient(
    run: Run, node: ast.expr, left: AbstractValue, right: AbstractValue, result: AbstractValue
) -> AbstractValue | None:
    """What a sum of all that a device has, or that all devices have, is when a count of such divides it."""
    by_total = TOTAL in right.marks and right.level != Level.NO
    if TOTAL in left.marks and (TOTAL in right.marks or _is_own_length(right)):
        note(run, left)
        return replace(result, marks=_without(result) | {MEAN})
    if TOTAL in left.marks and left.level != Level.NO and TOTALS in right.marks:
        note(run, left)
        return replace(result, marks=_without(result) | {SHARE})
    module = run.modules[-1] if run.modules else run.home
    if MEAN_TOTAL in left.marks and TOTALS in right.marks and not run.quiet() and module is not None:
        run.reading.undersized.append((module, node))
    if TOTALS in left.marks and (by_total or _is_own_length(right)) and not run.quiet() and module is not None:
        run.reading.mismatched.append(Mismatch(module, node, not by_total))
    return None


def _without_length(
    op: ast.operator, left: AbstractValue, right: AbstractValue, result: AbstractValue
) -> AbstractValue:
    """A result that is the length of a device's own block only as a product of such."""
    if OWN_LENGTH not in result.marks or (isinstance(op, ast.Mult) and _is_own_length(left) and _is_own_length(right)):
        return result
    return replace(result, marks=result.marks - {OWN_LENGTH})


def _is_own_length(value: AbstractValue) -> bool:
    return OWN_LENGTH in value.marks and value.level == Level.NO and not value.host


def _has_marks(value: AbstractValue) -> bool:
    return any(mark in OF_EACH or mark.startswith(SUMMED) for mark in value.marks)


def of_loss(loss: AbstractValue) -> frozenset[str]:
    """The marks of the gradients of a loss that is a mean, or a sum of means, which are as large as it is."""
    return (loss.marks & {MEAN, SHARE}) | {f"{mark}{_OF_GRADIENTS}" for mark in _sums(loss)}


def of_too_large(value: AbstractValue) -> frozenset[str]:
    """The marks of gradients of a loss that is a sum of means: their mean over the devices is as large."""
    return frozenset(mark for mark in _sums(value) if mark.endswith(_OF_GRADIENTS))


def applied(value: AbstractValue) -> AbstractValue:
    """Parameters, or the state of an optimizer, after an update: what divides them divides no sum."""
    return mapped(value, lambda v: replace(v, marks=v.marks - _sums(v) - (PASSING - {STEPPED})) if v.marks else v)


def _sums(value: AbstractValue) -> frozenset[str]:
    return frozenset(mark for mark in value.marks if mark.startswith(SUMMED))


def _is_by_number(node: ast.expr, left: AbstractValue, right: AbstractValue) -> bool:
    """Whether one side is a number: one that is written, or from outside."""
    written = _is_number(left) or _is_number(right)
    return written or (isinstance(node, ast.BinOp) and _is_weight(node, left, right))


def _is_number(value: AbstractValue) -> bool:
    return isinstance(value.static, Constant) and isinstance(value.static.value, int | float)


def _is_weight(node: ast.BinOp, left: AbstractValue, right: AbstractValue) -> bool:
    """Whether one side is a number from outside, such as a term's weight, and no count by its name."""
    sides = ((node.left, left), (node.right, right))
    return any(
        value.level == Level.NO and not value.marks and not COUNTS.search(ast.unparse(side).lower())
        for side, value in sides
    )


def _is_of_rounds(node: ast.expr) -> bool:
    """Whether what is divided by is the number of parts of a batch that come one after the other."""
    if not isinstance(node, ast.BinOp) or isinstance(node.right, ast.BinOp):  # a product may count the devices as well
        return False
    return ROUNDS.search(ast.unparse(node.right).lower()) is not None


def _has_rate(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and any(RATES.search(ast.unparse(one)) for one in (node.left, node.right))


def note(run: Run, value: AbstractValue) -> None:
    """Something may divide what is in a value."""
    run.reading.scaled.update(_sums(value))


def apply(run: Run, value: AbstractValue) -> None:
    """Parameters are changed by something."""
    run.reading.applied.update(_sums(value))


def differentiate(run: Run, loss: AbstractValue) -> None:
    """The gradient of a loss is taken."""
    run.reading.differentiated.update(_sums(loss))


def _without(value: AbstractValue) -> frozenset[str]:
    return frozenset(mark for mark in value.marks if mark not in OF_EACH and not mark.startswith(SUMMED))
