"""Host code that computes with stacked arrays element by element, or puts all their elements in another shape.

Arithmetic with a number gives each element the same in any layout, so that its result has the layout of its operand. So
do two arrays of which every device has the same copies, if they have as many dimensions: of one number and of one
element for each device, `a * b` has all pairs. The elements of a batch stand in one order, whether it has a device axis
or not: a reshape of all of it gives the same, where it has an axis to split.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from math import frexp

from jaxmigrate.flow.layout import class_index, numpys, one_array, operations, plain_numbers
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, Given
from jaxmigrate.flow.layout.shape_texts import is_zero
from jaxmigrate.flow.layout.values import (
    NOTHING,
    NUMBER,
    PLAIN,
    Abstract,
    Blocker,
    Func,
    Method,
    Nothing,
    Numpys,
    Ref,
    Seq,
    groups_in,
    is_empty,
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
FLAT, DEEP = "flat", "deep"  # reshaped as a whole; of which some read shows that each device has an axis of it
REDUCED = "reduced"  # to one number, which copies of the elements do not change
FETCHED = "fetched and reduced"  # by NumPy
SUMMED = "summed"  # to one that they do
AVERAGED = "averaged"  # over the devices, element by element
BATCH = "batch"  # what a reader presumes to be one, though nothing in sight split it
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
MAPS = named("elementwise")
ROUNDED = named("rounded")
SHAPES_ALL = named("reshapes-all")
JOINS = named("joins-rows")
EXACT = named("reduces-exactly")
MEANS = named("reduces-to-mean")
SUMS = named("reduces-to-sum")
REDUCING = {name.rpartition(".")[2]: name for name in sorted(EXACT | MEANS | SUMS)}
BESIDE = Stacked.MIXED.reason("is reduced over the devices in code that also runs on arrays without a device axis")
LISTED_BESIDE = Stacked.MIXED.reason("is joined with others in code that also runs on arrays without a device axis")
METHODS = frozenset({"clip", "round"})
RESHAPES = frozenset({"flatten", "ravel", "reshape"})


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
    are_arrays = all(_is_array(it, value, one, frame) for value, one in operands if isinstance(value, Ref))
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


def _is_array(it: Interpreter, value: Ref, operand: ast.expr | None, frame: Frame) -> bool:
    return value.is_array or (operand is not None and one_array.seems_one(it, value, operand, frame))


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
    """A function of a library that computes element by element, or puts the elements in another shape."""
    values = given.positional
    if given.open or has_stars(node):
        return None
    if name in MAPS | ROUNDED and set(given.named) <= {"a_max", "a_min", "max", "min"}:
        result = computed(it, _operands(given), node, frame)
        if not name.startswith("jax."):
            it.lending.on_host.update(groups_in(result) if result is not None else ())
        return result
    if name in SHAPES_ALL and values and isinstance(values[0], Ref) and not any(map(is_tracked, [*values[1:]])):
        sized = len(values) <= (1 if name.endswith(".ravel") else 2) and not set(given.named) - {"shape", "newshape"}
        if not sized:
            return None  # by an order of its own
        return flat(it, values[0], node, given.places.get(0, node), frame)
    single = len(values) == len(node.args) == 1 and given.places.get(0) is node.args[0]
    if name in EXACT | MEANS | SUMS and single and not given.named and isinstance(values[0], Ref | Nothing | Seq):
        return reduced(it, name, values[0], node, frame, fetched=name.startswith("numpy."))
    over = is_over_devices(node.args[1:], node.keywords)
    if name in EXACT | MEANS and over and given.places.get(0) is node.args[0] and isinstance(values[0], Ref):
        return averaged(it, name, values[0], node, node.args[0], frame)
    if name in JOINS and single and _is_along_first(node) and isinstance(values[0], Ref):
        return _joined(it, name, values[0], node, frame)
    if name in JOINS and single and _is_along_first(node):
        return _listed(it, values[0], node, frame)
    return None


def method(it: Interpreter, owner: Ref, name: str, given: Given, node: ast.Call, frame: Frame) -> Abstract | None:
    """The same of a method of an array."""
    if given.open or any(map(is_tracked, given.everything())):
        return None
    if name in RESHAPES and not given.named and (name == "reshape" or not given.positional):
        return flat(it, owner, node, node.func.value if isinstance(node.func, ast.Attribute) else node, frame)
    if name in REDUCING and not given.everything() and not has_stars(node):
        return reduced(it, REDUCING[name], owner, node, frame)
    of = node.func.value if isinstance(node.func, ast.Attribute) else None
    if REDUCING.get(name) in EXACT | MEANS and of is not None and is_over_devices(node.args, node.keywords):
        return averaged(it, REDUCING[name], owner, node, of, frame)
    if name in METHODS and of is not None and not has_stars(node) and _is_array(it, owner, of, frame):
        return computed(it, [(owner, of), *_operands(given)], node, frame)
    return None


def _operands(given: Given) -> list[tuple[Abstract, ast.expr | None]]:
    """The arguments of a call with their expressions, as far as these stand for one each."""
    positional = [(value, given.places.get(i)) for i, value in enumerate(given.positional)]
    return [*positional, *((value, given.places.get(name)) for name, value in given.named.items())]


def flat(it: Interpreter, owner: Ref, node: ast.expr, operand: ast.expr, frame: Frame) -> Abstract:
    """All elements of an array in another shape."""
    if not numpys.keeps_type(it, owner, "is reshaped", node, frame, operand):
        return PLAIN
    it.changed |= owner.group.flatten()
    it.changed |= it.joined_group(FLAT, node, frame.context).unify(owner.group)
    if it.trust.likely:
        says = f"what `{ast.unparse(node)}` takes has more than one number for each device"
        it.lean([owner], Assumption("likely", "splits", "", says, frame.module, node))
        it.changed |= it.joined_group(DEEP, node, frame.context).unify(owner.group)
    return PLAIN


def reduced(
    it: Interpreter, name: str, value: Abstract, node: ast.expr, frame: Frame, *, fetched: bool = False
) -> Abstract | None:
    """One number of all elements of an array: the largest is that of any number of copies, and of any shape.

    So is the mean, but for rounding; a sum has as many terms as there are copies.
    """
    if isinstance(value, Nothing):
        return None if it.final else NOTHING
    if isinstance(value, Seq) and is_empty(value) and not it.final:
        return NOTHING
    held = value.box.element if isinstance(value, Seq) else value  # `np.mean(losses)`: all arrays of a list as one
    if not isinstance(held, Ref) or numpys_in([held]) is Numpys.MADE or class_index.is_property(it, "shape"):
        return None
    if name not in EXACT:
        if not it.trust.likely:
            return None
        says = f"`{ast.unparse(node)}` is the same without the device axis, but for rounding"
        it.lean([held], Assumption("likely", "unreplicates", "", says, frame.module, node))
    it.changed |= held.group.flatten()
    kind = SUMMED if name in SUMS else FETCHED if fetched or held.numpys is Numpys.FETCHED else REDUCED
    it.changed |= it.joined_group(kind, node, frame.context).unify(held.group)
    return PLAIN


def is_over_devices(rest: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> bool:
    """Whether a reduction says the first axis and no more: `x.mean(0)`, `jnp.mean(x, axis=0)`."""
    axes = [*rest, *(k.value for k in keywords if k.arg == "axis")]
    return len(axes) == 1 == len(rest) + len(keywords) and is_zero(axes[0])


def is_reduced_at_once(it: Interpreter, node: ast.Call, module: Module) -> bool:
    """Whether one number is made at once of all that a call gives: `np.array(x).mean()`, `jnp.mean(jnp.stack(x))`."""
    above = module.table.parents.get(node)
    call = module.table.parents.get(above) if isinstance(above, ast.Attribute) else above
    if not isinstance(call, ast.Call) or call.keywords:
        return False
    if isinstance(above, ast.Attribute):
        return above.attr in REDUCING and call.func is above and not call.args
    return call.args == [node] and it.idioms.external(call.func, module) in EXACT | MEANS | SUMS


def averaged(
    it: Interpreter, name: str, value: Ref, node: ast.Call, operand: ast.expr, frame: Frame
) -> Abstract | None:
    """What each element is over all devices: of equal slices the same as of one, but for the rounding of a mean."""
    if numpys_in([value]) is Numpys.MADE or class_index.is_property(it, "shape"):
        return None
    if not _is_array(it, value, operand, frame):
        return None
    if node in it.operations.plain_ops:
        it.block_all([value], BESIDE, node, frame.module)
        return PLAIN
    if name not in EXACT:
        if not it.trust.likely:
            return None
        says = f"`{ast.unparse(node)}` is the same of one device's slice, but for rounding"
        it.lean([value], Assumption("likely", "unreplicates", "", says, frame.module, node))
    it.changed |= value.group.flatten()
    it.changed |= it.joined_group(AVERAGED, node, frame.context).unify(value.group)
    operations.record(it, "averaged", node, operand, value.group, "", frame)
    return PLAIN


def note_plain(it: Interpreter, callee: Abstract, given: Given, node: ast.Call, frame: Frame) -> None:
    """Notes that a reduction over the devices is also one of what is no stacked array, whose text has to stay."""
    if not isinstance(node.func, ast.Attribute | ast.Name) or not (node.args or node.keywords):
        return
    name = it.idioms.external(node.func, frame.module)
    if name in EXACT | MEANS:
        reduces, values = is_over_devices(node.args[1:], node.keywords), given.positional[:1]
    elif isinstance(node.func, ast.Attribute) and REDUCING.get(node.func.attr) in EXACT | MEANS:
        reduces, values = is_over_devices(node.args, node.keywords), (callee,)
    else:
        return
    if not reduces or all(isinstance(one, Ref | Nothing) or _is_method(it, one) for one in values):
        return
    it.operations.plain_ops.add(node)
    known = it.operations.ops.get(node)
    if known is not None:
        it.changed |= known.group.block(Blocker(BESIDE, frame.module, node))


def _is_method(it: Interpreter, callee: Abstract) -> bool:
    """Whether what is called is a method of stacked arrays."""
    items = callee.items if isinstance(callee, Func) else ()
    return any(isinstance(one, Method) and isinstance(it.looks.receivers.get(one.node), Ref) for one in items)


def _joined(it: Interpreter, name: str, value: Ref, node: ast.Call, frame: Frame) -> Abstract | None:
    """`jnp.concatenate(x)` of one array, whose rows have an axis each: else it raises."""
    if not value.is_array or class_index.is_property(it, "shape"):
        return None
    of_numpy = not name.startswith("jax.")
    if of_numpy and not isinstance(node.func, ast.Attribute):
        return None
    return operations.merge(it, value, node, node.args[0], operations.COPIED if of_numpy else "reshape", frame)


def _listed(it: Interpreter, value: Abstract, node: ast.Call, frame: Frame) -> Abstract | None:
    """`np.concatenate(losses)` of a list of arrays, of all of which one number is made at once.

    Equal slices of one number each have no axis left to join: they are stacked.
    """
    element = value.box.element if isinstance(value, Seq) else None
    if not isinstance(element, Ref | Nothing):
        it.operations.plain_ops.add(node)
        known = it.operations.ops.get(node)
        if known is not None:
            it.changed |= known.group.block(Blocker(LISTED_BESIDE, frame.module, node))
        return None
    if not isinstance(node.func, ast.Attribute) or not is_reduced_at_once(it, node, frame.module):
        return None
    if isinstance(element, Nothing):
        return value
    if numpys_in([element]) is Numpys.MADE or node in it.operations.plain_ops:
        return None
    it.changed |= element.group.flatten()
    operations.record(it, "listed", node, node.args[0], element.group, "", frame)
    return value


def _is_along_first(node: ast.Call) -> bool:
    """Whether a call says no axis but the first."""
    return all(k.arg == "axis" and isinstance(k.value, ast.Constant) and k.value.value == 0 for k in node.keywords)
