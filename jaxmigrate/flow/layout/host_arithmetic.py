"""Host code that computes with stacked arrays element by element.

Arithmetic with a number gives each element the same in any layout, so that its result has the layout of its operand. So
do two arrays of which every device has the same copies, if they have as many dimensions: of one number and of one
element for each device, `a * b` has all pairs.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from math import frexp

from jaxmigrate.flow.layout import one_array, plain_numbers, reductions
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, Given
from jaxmigrate.flow.layout.shape_texts import is_minus_one
from jaxmigrate.flow.layout.values import (
    NOTHING,
    NUMBER,
    Abstract,
    Nothing,
    Numpys,
    Ref,
    groups_in,
    is_tracked,
    numpys_in,
)
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import has_stars
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Constant, External

ALONE, TOGETHER = "elementwise", "pairwise"  # an array with numbers; several arrays
DIVIDED = "divided"  # by a number: on one device, XLA multiplies with the reciprocal, but where it divides a number
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
MAPS = named("elementwise")
ROUNDED = named("rounded")
TRUTHS = named("truths")
ALONG_LAST = named("along-last")
BY_DEFAULT = named("last-by-default")
METHODS = frozenset({"clip", "round"})


def computed(
    it: Interpreter, operands: Sequence[tuple[Abstract, ast.expr | None]], node: ast.expr | ast.AugAssign, frame: Frame
) -> Abstract | None:
    """What arithmetic gives that changes no axis of the arrays among its operands; None where it may be another."""
    arrays = [value for value, _ in operands if not _is_plain(value)]
    plain = [one for value, one in operands if _is_plain(value) and not _starts_as_number(it, value, one, frame)]
    if not arrays or not all(isinstance(value, Ref | Nothing) for value in arrays):
        return None
    refs = [value for value in arrays if isinstance(value, Ref)]
    if any(one is None for one in plain) or numpys_in(refs) is Numpys.MADE:
        return None
    if not plain_numbers.seem_numbers(it, [one for one in plain if one is not None], refs, frame):
        return None
    are_arrays = all(one_array.is_one(it, value, one, frame) for value, one in operands if isinstance(value, Ref))
    if not are_arrays or len(refs) < len(arrays):
        waits = not it.final and not any(isinstance(one, Nothing) and one.none for one in arrays)
        return NOTHING if waits and are_arrays else None
    if len(refs) > 1 and not _have_one_rank(it, operands, refs, node, frame):
        return None
    divides = len(refs) == 1 and _divides(it, node, frame.module)
    if divides or _is_rounded(it, node, frame.module):
        if it.trust.likely:
            says = f"`{ast.unparse(node)}` is rounded alike in any shape"
            it.lean(refs, Assumption("likely", "splits", "", says, frame.module, node))
        elif not divides:
            return None
    kind = TOGETHER if len(refs) > 1 else DIVIDED if divides and not it.trust.likely else ALONE
    group = it.joined_group(kind, node, frame.context)
    for one in refs:
        it.changed |= one.group.flatten()
        it.changed |= group.unify(one.group)
    return Ref(group, leaf=True, numpys=numpys_in(refs))


def _is_rounded(it: Interpreter, node: ast.expr | ast.AugAssign, module: Module) -> bool:
    """Whether what is computed is no sum, product, quotient or root, all of which are rounded as they must be."""
    if isinstance(node, ast.BinOp | ast.AugAssign):
        return isinstance(node.op, ast.Pow)
    return isinstance(node, ast.Call) and it.idioms.external(node.func, module) in ROUNDED


def _divides(it: Interpreter, node: ast.expr | ast.AugAssign, module: Module) -> bool:
    """Whether arithmetic divides an array by a number whose reciprocal may be rounded."""
    match node:
        case ast.BinOp(op=ast.FloorDiv() | ast.Mod()) | ast.AugAssign(op=ast.FloorDiv() | ast.Mod()):
            return True
        case ast.BinOp(op=ast.Div(), right=divisor) | ast.AugAssign(op=ast.Div(), value=divisor):
            found = it.resolver.value(divisor, module)
            number = found.value if isinstance(found, Constant) else None
            return not isinstance(number, int | float) or not number or abs(frexp(number)[0]) != 0.5
        case ast.Call(func=func):
            value = it.resolver.value(func, module)
            return isinstance(value, External) and value.name.endswith(".divide")
    return False


def _have_one_rank(
    it: Interpreter,
    operands: Sequence[tuple[Abstract, ast.expr | None]],
    refs: Sequence[Ref],
    node: ast.expr | ast.AugAssign,
    frame: Frame,
) -> bool:
    """Whether several arrays have as many dimensions: else the device axis of one meets another axis of the other."""
    each = [one for value, one in operands if isinstance(value, Ref)]
    if (
        all(isinstance(one, ast.Name) for one in each)
        and len({one.id for one in each if isinstance(one, ast.Name)}) == 1
    ):
        return True
    if it.trust.likely:
        says = f"the arrays in `{ast.unparse(node)}` have as many dimensions"
        it.lean(refs, Assumption("likely", "splits", "", says, frame.module, node))
    return it.trust.likely


def _starts_as_number(it: Interpreter, value: Abstract, node: ast.expr | None, frame: Frame) -> bool:
    """Whether an operand is what arrays are added to later on, and still the number that it starts as: `total = 0`."""
    if value != NUMBER or not isinstance(node, ast.Name):
        return False
    for binding in it.resolver.bindings_at(node, frame.module):
        start = binding.value
        for index in binding.path:
            parts = start.elts if isinstance(start, ast.Tuple | ast.List) else []
            start = parts[index] if isinstance(index, int) and index < len(parts) else None
        if isinstance(start, ast.Constant) and isinstance(start.value, int | float):
            return True
    return False


def _is_plain(value: Abstract) -> bool:
    return not isinstance(value, Nothing) and not is_tracked(value)


def function(it: Interpreter, name: str, given: Given, node: ast.Call, frame: Frame) -> Abstract | None:
    """What a function of a library gives that computes element by element, or makes less of arrays; None for others."""
    if given.open or has_stars(node):
        return None
    if name in MAPS | ROUNDED and set(given.named) <= {"a_max", "a_min", "max", "min"}:
        result = computed(it, _operands(given), node, frame)
        if result is not None and not name.startswith("jax.") and name not in TRUTHS:
            _note_numpys(it, result, node, frame)
        return result
    if name in ALONG_LAST and (found := _along_last(it, name, given, node, frame)) is not None:
        return found
    return reductions.function(it, name, given, node, frame)


def _note_numpys(it: Interpreter, result: Abstract, node: ast.Call, frame: Frame) -> None:
    """Notes that NumPy gives a result, whose type may change with that of numbers if it is a single number."""
    if it.trust.likely and not it.lending.several:
        refs = [result] if isinstance(result, Ref) else []
        says = f"`{ast.unparse(node)}` keeps its type where it gives a single number"
        it.lean(refs, Assumption("likely", "unreplicates", "", says, frame.module, node))
    else:
        it.lending.on_host.update(groups_in(result))


def _along_last(it: Interpreter, name: str, given: Given, node: ast.Call, frame: Frame) -> Abstract | None:
    """What is computed along the last axis of an array of which each row has more numbers than one: of logits, say."""
    value, place = given.positional[:1], given.places.get(0)
    axes = [*node.args[1:], *(k.value for k in node.keywords if k.arg == "axis")]
    says_last = [is_minus_one(one) for one in axes] == [True] or (not axes and name in BY_DEFAULT)
    if len(value) != 1 or not isinstance(value[0], Ref) or place is None or not it.trust.likely:
        return None
    if not says_last or any(k.arg != "axis" for k in node.keywords) or not one_array.is_one(it, value[0], place, frame):
        return None
    says = f"each row of `{ast.unparse(place)}` has more numbers than one"
    it.lean(value, Assumption("likely", "splits", "", says, frame.module, node))
    result = computed(it, [(value[0], place)], node, frame)
    if result is not None and not name.startswith("jax."):
        it.lending.on_host.update(groups_in(result))
    return result


def method(it: Interpreter, owner: Ref, name: str, given: Given, node: ast.Call, frame: Frame) -> Abstract | None:
    """The same of a method of an array."""
    if given.open or any(map(is_tracked, given.everything())):
        return None
    of = node.func.value if isinstance(node.func, ast.Attribute) else None
    if name in METHODS and of is not None and not has_stars(node) and one_array.is_one(it, owner, of, frame):
        return computed(it, [(owner, of), *_operands(given)], node, frame)
    return reductions.method(it, owner, name, given, node, frame)


def _operands(given: Given) -> list[tuple[Abstract, ast.expr | None]]:
    """The arguments of a call with their expressions, as far as these stand for one each."""
    positional = [(value, given.places.get(i)) for i, value in enumerate(given.positional)]
    return [*positional, *((value, given.places.get(name)) for name, value in given.named.items())]
