"""What functions of libraries and methods of arrays make of blocks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.flow.blocks import functions
from jaxmigrate.flow.blocks.block import NOWHERE, WHOLE, Axes, Block, cleared, of_sum, reduced, summed_up, unknown
from jaxmigrate.flow.blocks.evidence import EINSUMS
from jaxmigrate.flow.blocks.halos import JOINING, note_halos
from jaxmigrate.flow.blocks.indexing import choose, sliced
from jaxmigrate.flow.blocks.inside import Inside
from jaxmigrate.flow.blocks.leaves import leaves
from jaxmigrate.flow.blocks.loops import CARRIES, of_loop
from jaxmigrate.flow.blocks.operators import compare, note_curved, note_whole_terms, product_of, together_with
from jaxmigrate.flow.blocks.parts import contracted, dimensions, is_position, statistic
from jaxmigrate.flow.counts import entries
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import AXIS_POSITIONS, argument, axis_given
from jaxmigrate.program.values import Argument, Constant

MEAN = "jax.lax.pmean"
SUM = "jax.lax.psum"


def of_library(it: Inside, node: ast.Call, name: str) -> Block | None:
    """What a function of a library gives."""
    if any(isinstance(one, ast.Starred) for one in node.args):
        return None
    arguments = call_arguments(node, it.module)
    if name in functions.SLICING and len(node.args) > 1:
        return sliced(it, node, node.args[0], node.args[1])
    if name in functions.CHOOSING and len(node.args) > 1:
        at = argument(arguments, 2, "axis")
        position = it.resolver.literal(at) if at is not None else functions.CHOOSING[name]
        if isinstance(position, int) and position >= 0:
            choose(it, node, node.args[0], node.args[1], position)
        return None
    if name in CARRIES:
        return of_loop(it, node, name)
    if name in functions.PRODUCTS and len(node.args) == 2:
        return product_of(it, node, *node.args)
    if name in EINSUMS:
        return _einsum(it, node)
    if name in functions.RANKS:
        if name.endswith(".arange"):
            _counted(it, node)
        return unknown(functions.RANKS[name])
    if name in functions.SHAPED:
        return _shaped(it, argument(arguments, functions.SHAPED[name], "shape"), name)
    return _of_arrays(it, node, name, arguments) if node.args else None


def _of_arrays(it: Inside, node: ast.Call, name: str, arguments: tuple[Argument, ...]) -> Block | None:
    if name in functions.CURVED:
        note_curved(it, node, node.args[0])
    if name in functions.NORMALISING:
        _normalised(it, node, argument(arguments, 1, "axis"))
    if name in functions.SAME:
        if name in AXIS_POSITIONS:
            return _communicated(it, node, name, arguments)
        same = it.block(node.args[0])
        curved = same is not None and name in functions.CURVED
        return same._replace(local=same.local.lasting()) if same is not None and curved else same
    if name in JOINING:
        note_halos(it, node, arguments)
    if name in functions.TOGETHER:
        return together_with(it, node, node.args)
    if name == functions.ONE_HOT:
        found = it.block(node.args[0])
        return Block((*found.dims, WHOLE), found.sure) if found is not None and found.sure else None
    if name in functions.REDUCING:
        return _reduced(it, name, it.block(node.args[0]), argument(arguments, 1, "axis"), arguments)
    if name == functions.EXCHANGE:
        return _exchanged(it, node, arguments)
    return _gathered(it, node, it.block(node.args[0]), arguments) if name in functions.GATHERS else None


def _exchanged(it: Inside, node: ast.Call, arguments: tuple[Argument, ...]) -> Block | None:
    """Blocks whose pieces go to all devices: one dimension becomes whole, and another is split instead."""
    found, names = it.block(node.args[0]), it.axes_of(argument(arguments, 1, "axis_name"))
    tiled = argument(arguments, 5, "tiled")
    split, whole = (argument(arguments, n, key) for n, key in ((2, "split_axis"), (3, "concat_axis")))
    places = [it.resolver.literal(one) if one is not None else None for one in (split, whole)]
    if found is None or names is None or tiled is None or it.resolver.literal(tiled) is not True:
        return None
    one, other = (n if isinstance(n, int) and 0 <= n < len(found.dims) else None for n in places)
    if one is None or other is None or one == other:
        return None
    over, dims = frozenset(names), list(found.dims)
    before = dims[one]
    if _is_split_elsewhere(found, other, over):
        it.note_part(node, node.args[0], over, "exchanged" if before is not None and over <= before else "gathered")
        return None
    dims[one] = None if before is None else before | over
    after = dims[other]
    dims[other] = None if after is None else after - over
    return Block(tuple(dims), found.sure)


def _is_split_elsewhere(found: Block, place: int, over: frozenset[str]) -> bool:
    """Whether axes split another dimension than this, which they do not."""
    own = found.dims[place]
    others = [axes for n, axes in enumerate(found.dims) if n != place]
    return own is not None and not own & over and any(axes is not None and over <= axes for axes in others)


def _counted(it: Inside, node: ast.Call) -> None:
    """Notes positions that are counted along a dimension that is split: on each device from 0."""
    found = it.length_of(node.args[0]) if len(node.args) == 1 else None
    if found is not None and is_position(node, it.module):
        held, place = found
        block = it.block(held)
        axes = block.dims[place] if block is not None and 0 < place < len(block.dims) else None
        it.note_part(node, held, axes or frozenset(), "positions")


def of_method(it: Inside, node: ast.Call) -> Block | None:
    """A method of an array."""
    if not isinstance(node.func, ast.Attribute):
        return None
    held, name = node.func.value, node.func.attr
    arguments = call_arguments(node, it.module)
    if name in functions.SAME_METHODS:
        return it.block(held)
    if name in functions.REDUCING_METHODS:
        found = it.block(held)
        if found is None and name == "sum" and not arguments:
            return Block((), True)
        return None if found is None else _reduced(it, name, found, argument(arguments, 0, "axis"), arguments)
    if name in ("ravel", "flatten"):
        return unknown(1)
    size = argument(arguments, None, "size")
    if name in functions.DRAWING_METHODS and size is not None:  # of numpy's generators
        return _shaped(it, size, name)
    if name == "reshape" and not any(isinstance(one, ast.Starred) for one in node.args):
        if len(node.args) > 1:
            return unknown(len(node.args))
        count = entries(node.args[0], it.module, it.resolver) if node.args else None
        return None if count is None else unknown(count)
    return None


def _communicated(it: Inside, node: ast.Call, name: str, arguments: tuple[Argument, ...]) -> Block | None:
    """What devices make together of their blocks; a mean of partial sums is noted."""
    found, given = it.block(node.args[0]), axis_given(name, arguments)
    names = it.axes_of(given)
    over = None if names is None else frozenset(names)
    if over is not None and it.function is not None and name in (MEAN, SUM):
        for leaf in leaves(node.args[0], it.function, it.module):
            _put_together(it, node, leaf, name, over)
    return summed_up(found, over) if name == SUM else cleared(found, over)


def _put_together(it: Inside, node: ast.expr, leaf: ast.expr, name: str, over: frozenset[str]) -> None:
    """Notes what devices put together of what each has of its block in another way than they should."""
    found = it.block(leaf)
    if found is None:
        return
    if name == MEAN:
        it.note_part(node, leaf, (found.partial | found.local.inner) & over, "averaged")
    else:
        it.note_part(node, leaf, found.local.mean & over, "summed")
        it.note_part(node, leaf, found.local.offset & over, "offset")
        split = frozenset[str]().union(*(axes for axes in found.dims if axes))
        if found.partial & over:
            note_whole_terms(it, node, leaf, found.partial & over)
            it.note_part(node, leaf, split & over - found.partial, "rows")
    it.note_part(node, leaf, found.local.ratio & over, "ratio")


def _normalised(it: Inside, node: ast.Call, axis: Argument | None) -> None:
    """Notes a softmax and the like over features that are split."""
    found, over = it.block(node.args[0]), it.literal_axes(axis) if axis is not None else (-1,)
    if found is not None and over is not None:
        split = frozenset[str]().union(*(axes for axes in dimensions(found, over) if axes))
        it.note_part(node, node.args[0], split, "statistic")


def _reduced(
    it: Inside, name: str, found: Block | None, axis: Argument | None, arguments: tuple[Argument, ...]
) -> Block | None:
    keep = argument(arguments, None, "keepdims")
    kept = keep is not None and it.resolver.literal(keep) is not False
    over = it.literal_axes(axis) if axis is not None else None
    everything = axis is None or it.resolver.literal(axis) is None
    if everything and not kept and found is None:
        return Block((), True)
    if found is None or (over is None and not everything):
        return None
    made = reduced(found, over, kept=kept)
    last = name.rpartition(".")[2]
    if last in functions.SUMMING:
        places = range(len(found.dims)) if over is None else over
        split = [found.dims[n] or frozenset() for n in places if -len(found.dims) <= n < len(found.dims)]
        inner = frozenset[str]().union(*(axes for axes in dimensions(found, over) if axes))
        made = of_sum(made, frozenset[str]().union(*split), inner, mean=last in functions.AVERAGING)
    elif made is not None:
        places = range(len(found.dims)) if over is None else over
        split = [found.dims[n] or frozenset() for n in places if -len(found.dims) <= n < len(found.dims)]
        largest = frozenset[str]().union(*split) if last in ("max", "amax") else frozenset[str]()
        made = made._replace(local=NOWHERE._replace(peak=largest))
    return statistic(made, found, over) if name.rpartition(".")[2] in functions.STATISTICS else made


def _shaped(it: Inside, shape: Argument | None, name: str) -> Block | None:
    """An array made with a shape; random numbers without one are one number."""
    if shape is None or shape.expression is None:
        return Block((), True) if name.startswith("jax.random.") else None
    match shape.expression:
        case ast.Attribute(value=held, attr="shape"):
            found = it.block(held)
            return unknown(len(found.dims)) if found is not None and found.sure else None
    count = entries(shape.expression, shape.module, it.resolver)
    if count is None:
        value = it.resolver.argument_values(shape)
        number = value[0].value if len(value) == 1 and isinstance(value[0], Constant) else None
        count = 1 if isinstance(number, int) else len(number) if isinstance(number, tuple) else None
    return None if count is None else unknown(count)


def _gathered(it: Inside, node: ast.Call, found: Block | None, arguments: tuple[Argument, ...]) -> Block | None:
    """All devices' blocks side by side: their dimension is whole along the axis."""
    over = argument(arguments, 1, "axis_name")
    names = it.axes_of(over)
    tiled, at = argument(arguments, None, "tiled"), argument(arguments, None, "axis")
    position = it.resolver.literal(at) if at is not None else 0
    if found is None or names is None or tiled is None or it.resolver.literal(tiled) is not True:
        return None
    if not isinstance(position, int) or (position < 0 and not found.sure):
        return None
    if not found.sure and position >= len(found.dims):  # a dimension that no axis splits
        found = Block((*found.dims, *(WHOLE,) * (position + 1 - len(found.dims))), False, found.partial, found.own)
    if not -len(found.dims) <= position < len(found.dims):
        return None
    if _is_split_elsewhere(found, position % len(found.dims), frozenset(names)):
        it.note_part(node, node.args[0], frozenset(names), "gathered")
        return None
    dims = list(found.dims)
    axes = dims[position]
    dims[position] = None if axes is None else axes - frozenset(names)
    return cleared(Block(tuple(dims), found.sure, found.partial, found.own), frozenset(names))


def _einsum(it: Inside, node: ast.Call) -> Block | None:
    terms = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
    if not isinstance(terms, str):
        return None
    left, arrow, right = terms.replace(" ", "").partition("->")
    split = left.split(",")
    if "." in left or len(split) != len(node.args) - 1:
        return None
    sides: dict[str, list[tuple[ast.expr, Axes]]] = {}
    for held, letter, axes in _letters(it, node.args[1:], split):
        sides.setdefault(letter, []).append((held, axes))
    if not all(compare(it, node, *several) for several in sides.values()) or not arrow:
        return None
    found = {letter: {axes for _, axes in several} for letter, several in sides.items()}
    over = [one for letter, axes in found.items() if contracted(letter, split, right) for one in axes if one]
    known = [block for block in map(it.block, node.args[1:]) if block is not None]
    partial, own = frozenset[str]().union(*over, *(b.partial for b in known)), frozenset[str]()
    dims = tuple(next(iter(found[one])) if len(found.get(one, ())) == 1 else None for one in right)
    return Block(dims, True, partial, own.union(*(b.own for b in known)))


def _letters(it: Inside, operands: list[ast.expr], terms: list[str]) -> Iterator[tuple[ast.expr, str, Axes]]:
    """Each letter of an einsum with the operand that has it and what splits that dimension."""
    for held, term in zip(operands, terms, strict=True):
        found = it.block(held)
        dims = found.dims if found is not None and len(found.dims) <= len(term) else (None,) * len(term)
        if found is not None and found.sure and len(found.dims) != len(term):
            dims = (None,) * len(term)
        yield from ((held, letter, axes) for letter, axes in zip(term, (*dims, *(WHOLE,) * len(term)), strict=False))
