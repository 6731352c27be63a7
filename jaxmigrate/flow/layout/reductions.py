"""Host code that makes less of stacked arrays: one number, one slice of all devices, one row after the other.

The largest element is that of any number of copies, and of any shape. The elements of a batch stand in one order,
whether it has a device axis or not: a reshape of all of it gives the same, where it has an axis to split.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxmigrate.flow.layout import class_index, numpys, one_array, operations
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, Given
from jaxmigrate.flow.layout.shape_texts import is_zero
from jaxmigrate.flow.layout.values import (
    NOTHING,
    PLAIN,
    Abstract,
    Blocker,
    Func,
    Method,
    Nothing,
    Numpys,
    Ref,
    Seq,
    is_empty,
    is_tracked,
    numpys_in,
)
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import has_stars
from jaxmigrate.program.trust import Assumption

FLAT, DEEP = "flat", "deep"  # reshaped as a whole; of which some read shows that each device has an axis of it
REDUCED = "reduced"  # to one number, which copies of the elements do not change
FETCHED = "fetched and reduced"  # by NumPy
SUMMED = "summed"  # to one that they do
AVERAGED = "averaged"  # over the devices, element by element
SHAPES_ALL = named("reshapes-all")
JOINS = named("joins-rows")
EXACT = named("reduces-exactly")
MEANS = named("reduces-to-mean")
SUMS = named("reduces-to-sum")
REDUCING = {name.rpartition(".")[2]: name for name in sorted(EXACT | MEANS | SUMS)}
BESIDE = Stacked.MIXED.reason("is reduced over the devices in code that also runs on arrays without a device axis")
LISTED_BESIDE = Stacked.MIXED.reason("is joined with others in code that also runs on arrays without a device axis")
RESHAPES = frozenset({"flatten", "ravel", "reshape"})


def function(it: Interpreter, name: str, given: Given, node: ast.Call, frame: Frame) -> Abstract | None:
    """What a function of a library makes of arrays that it reduces, joins or puts in another shape; None for others."""
    values = given.positional
    if given.open or has_stars(node):
        return None
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
        return joined(it, name, values[0], node, frame)
    if name in JOINS and single and _is_along_first(node):
        return listed(it, values[0], node, frame)
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
    return None


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


def averaged(
    it: Interpreter, name: str, value: Ref, node: ast.Call, operand: ast.expr, frame: Frame
) -> Abstract | None:
    """What each element is over all devices: of equal slices the same as of one, but for the rounding of a mean."""
    if numpys_in([value]) is Numpys.MADE or class_index.is_property(it, "shape"):
        return None
    if not one_array.is_one(it, value, operand, frame):
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


def joined(it: Interpreter, name: str, value: Ref, node: ast.Call, frame: Frame) -> Abstract | None:
    """`jnp.concatenate(x)` of one array, whose rows have an axis each: else it raises."""
    if not value.is_array or class_index.is_property(it, "shape"):
        return None
    of_numpy = not name.startswith("jax.")
    if of_numpy and not isinstance(node.func, ast.Attribute):
        return None
    return operations.merge(it, value, node, node.args[0], operations.COPIED if of_numpy else "reshape", frame)


def listed(it: Interpreter, value: Abstract, node: ast.Call, frame: Frame) -> Abstract | None:
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


def _is_along_first(node: ast.Call) -> bool:
    """Whether a call says no axis but the first."""
    return all(k.arg == "axis" and isinstance(k.value, ast.Constant) and k.value.value == 0 for k in node.keywords)
