"""Follows blocks through the body of a mapped function, and arrays through the code that makes them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from jaxmigrate.flow.axis_values import axis_names
from jaxmigrate.flow.blocks import functions
from jaxmigrate.flow.blocks.block import (
    NOWHERE,
    WHOLE,
    Axes,
    Block,
    broadcast,
    cleared,
    of_sum,
    product,
    reduced,
    summed_up,
    unknown,
)
from jaxmigrate.flow.blocks.evidence import EINSUMS, called, is_layer, only_binding, passed_to, ranks_in
from jaxmigrate.flow.blocks.leaves import leaves, stored_in
from jaxmigrate.flow.blocks.parts import (
    Kind,
    Part,
    contracted,
    dimensions,
    is_position,
    is_transposed,
    rejoined,
    statistic,
)
from jaxmigrate.flow.counts import entries
from jaxmigrate.flow.written_specs import worked_out
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import AXIS_POSITIONS, GRADIENTS, SPECS, argument, axis_given
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding, FunctionNode, defaults_of
from jaxmigrate.program.values import Application, Argument, Constant, External, Function

_VECTORS = re.compile(r"(^|_)(norm|scale|bias|gamma|beta|gain)\d*(_|$)")
INDEX = "jax.lax.axis_index"
MEAN = "jax.lax.pmean"
SUM = "jax.lax.psum"
DEEPEST = 3  # functions that are followed one within the other


class Clash(NamedTuple):
    """An operation whose two operands cannot fit: over dimensions that belong together and are not split alike."""

    module: Module
    node: ast.expr
    one: ast.expr
    other: ast.expr
    axes: tuple[frozenset[str], frozenset[str]]


class OwnPart(NamedTuple):
    """A device's own part of an array, in which its index along the axis that splits it chooses as if it were whole."""

    module: Module
    node: ast.expr
    held: ast.expr
    axis: str


def spec_block(node: ast.expr, module: Module, resolver: Resolver) -> Block | None:
    """The block that a PartitionSpec makes of an array; None where some of its entries are not in sight."""
    value = resolver.value(node, module)
    if not isinstance(value, Application) or not isinstance(value.callee, External) or value.callee.name not in SPECS:
        found = worked_out(value, resolver)
        return None if found is None else Block(tuple(frozenset(entry) for entry in found), False)
    if any(one.keyword is not None or one.expression is None for one in value.arguments):
        return None
    return Block(tuple(_entry(one, resolver) for one in value.arguments), False)


def _entry(one: Argument, resolver: Resolver) -> Axes:
    values = resolver.argument_values(one)
    if values == (Constant(None),):
        return WHOLE
    names = axis_names(one.expression, one.module, resolver, {}) if len(values) == 1 else None
    return None if names is None else frozenset(names)


class Evaluator:
    """What is known of the blocks in one function.

    `given` holds the blocks of its parameters; what is asked for only once is worked out then. Operations that cannot
    fit are kept in `clashes`, parts that are divided once more in `chosen`.
    """

    def __init__(
        self,
        function: FunctionNode | None,
        module: Module,
        resolver: Resolver,
        given: Mapping[str, Block] | None = None,
        depth: int = 0,
        outer: Evaluator | None = None,
    ) -> None:
        self.function = function
        self.module = module
        self.resolver = resolver
        self.given = given or {}
        self.depth = depth
        self.outer = outer
        self.axes: dict[str, tuple[str, ...]] = {}  # that parameters hold, by what they are passed
        self.clashes: list[Clash] = []
        self.chosen: list[OwnPart] = []
        self.parts: list[Part] = []
        self._known: dict[ast.expr, Block | None] = {}

    def run(self) -> None:
        """Looks at every product in the function, and at what is chosen by an index."""
        for node in ast.walk(self.function) if self.function is not None else ():
            if isinstance(node, ast.BinOp | ast.Call):
                self.block(node)
            elif isinstance(node, ast.Subscript):
                parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                for position, one in enumerate(parts):
                    if _is(one, None) or _is(one, ...):
                        break
                    self._choose(node, node.value, one, position)

    def returned(self) -> Block | None:
        """What the function returns, if each of its returns gives the same."""
        returned = returned_by(self.function) if self.function is not None else []
        found = {self.block(one) if one is not None else None for one in returned}
        return found.pop() if len(found) == 1 else None

    def is_parameter(self, name: ast.Name) -> bool:
        """Whether a name is one of the function's own parameters where it is read."""
        binding = only_binding(name, self.module)
        return binding is not None and binding.kind == "param" and binding.scope.node is self.function

    def of_parameter(self, name: ast.Name) -> Block | None:
        """What the function's body says of one of its parameters."""
        return self.block(name) if self.is_parameter(name) else None

    def block(self, node: ast.expr) -> Block | None:
        """What is known of an expression's dimensions."""
        if node not in self._known:
            self._known[node] = None  # for what leads back to itself
            self._known[node] = self._evaluate(node)
        return self._known[node]

    def _evaluate(self, node: ast.expr) -> Block | None:
        match node:
            case ast.Constant(value=int() | float() | complex()):
                return Block((), True)
            case ast.Name():
                return self._name(node)
            case ast.UnaryOp(operand=operand):
                return self.block(operand)
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                return self.product(node, left, right)
            case ast.BinOp(left=left, op=op, right=right):
                self._scaled(node, left, right)
                if isinstance(op, ast.Pow):
                    self._curved(node, left)
                return self._operated(node, op, left, right)
            case ast.Compare(left=left, comparators=[right]):
                made = self._together(node, [left, right])
                return None if made is None else made._replace(local=NOWHERE)
            case ast.Subscript(value=ast.Name() as held, slice=ast.Constant(value=str(key))):
                return self._entry(held, key)
            case ast.Subscript(value=held, slice=index):
                return self._indexed(held, index)
            case ast.Attribute(value=held, attr="T"):
                found = self.block(held)
                return Block(found.dims[::-1], True) if found is not None and found.sure else None
            case ast.Call():
                return self._call(node)
        return None

    def _name(self, node: ast.Name) -> Block | None:
        binding = only_binding(node, self.module)
        if binding is None or node not in self.module.table.scope_of:
            return None
        if self.outer is not None and binding.scope.node is self.outer.function:
            return self.outer.block(node)
        if binding.kind == "param":
            own = binding.scope.node is self.function
            if own and node.id in self.given:
                return self._with_rank(self.given[node.id], binding)
            return self._evidence(binding) or self._default(binding)
        if binding.kind == "assign" and binding.value is not None and not binding.path:
            found = self.block(binding.value)
            return found if found is not None and found.sure else self._with_rank(found, binding)
        if binding.path and isinstance(binding.value, ast.Attribute) and binding.value.attr == "shape":
            return Block((), True)
        if binding.path and binding.path in self._losses(binding.value):
            return self._loss(binding.value) or Block((), True)
        return self._evidence(binding)

    def _entry(self, held: ast.Name, key: str) -> Block | None:
        """An entry of a dictionary that is written out."""
        binding = only_binding(held, self.module)
        display = binding.value if binding is not None and binding.kind == "assign" and not binding.path else None
        if binding is None or not isinstance(display, ast.Dict) or binding.scope.node is not self.function:
            return None
        found = [v for k, v in zip(display.keys, display.values, strict=True) if _is(k, key)]
        stored = any(True for _ in stored_in(held.id, binding.scope.node))
        return self.block(found[0]) if len(found) == 1 and not stored else None

    def _losses(self, node: ast.expr | None) -> tuple[tuple[int, ...], ...]:
        """Where the loss, one number, is in what a call of `value_and_grad(f)` gives."""
        made = self.resolver.value(node.func, self.module) if isinstance(node, ast.Call) else None
        if not isinstance(made, Application) or not isinstance(made.callee, External):
            return ()
        if made.callee.name not in GRADIENTS or not made.callee.name.endswith("value_and_grad"):
            return ()
        beside = argument(made.arguments, None, "has_aux")
        told = self.resolver.literal(beside) if beside is not None else False
        return ((0, 0),) if told is True else ((0,),) if told is False else ()

    def _loss(self, node: ast.expr | None) -> Block | None:
        """What is known of the loss that a call of `value_and_grad(f)` gives."""
        made = self.resolver.value(node.func, self.module) if isinstance(node, ast.Call) else None
        loss = argument(made.arguments, 0, "fun") if isinstance(made, Application) else None
        values = self.resolver.argument_values(loss) if loss is not None else ()
        if len(values) != 1 or not isinstance(values[0], Function) or not isinstance(node, ast.Call):
            return None
        found = self._inner(values[0], node) if self.depth < DEEPEST else None
        return found if found is not None and found.sure and not found.dims else None

    def _evidence(self, binding: Binding) -> Block | None:
        function = binding.scope.node
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return None
        rank = ranks_in(function, self.module, self.resolver).get(binding)
        return None if rank is None else unknown(rank)

    def _default(self, binding: Binding) -> Block | None:
        """A number, where a parameter's default is one: `eps=1e-6`."""
        function = binding.scope.node
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return None
        default = dict(defaults_of(function.args)).get(binding.name)
        number = isinstance(default, ast.Constant) and isinstance(default.value, int | float)
        return Block((), True) if number else None

    def _with_rank(self, found: Block | None, binding: Binding) -> Block | None:
        told = self._evidence(binding)
        if told is None or found is None:
            return found if told is None else told
        more = len(told.dims) - len(found.dims)
        return Block((*found.dims, *(WHOLE,) * more), True) if more >= 0 else told

    def _together(self, node: ast.expr, nodes: list[ast.expr]) -> Block | None:
        found = [self.block(one) for one in nodes]
        known = [one for one in found if one is not None]
        axes = rejoined(known)
        mixed = frozenset[str]().union(*(one.local.mixed for one in known)) & axes
        self._part(node, nodes[-1], mixed or axes, "mixed" if mixed else "statistic")
        return broadcast(known) if len(known) == len(found) else None

    def _operated(self, node: ast.expr, op: ast.operator, left: ast.expr, right: ast.expr) -> Block | None:
        """What an operator gives; what it makes of sums of a device's block alone."""
        made = self._together(node, [left, right])
        one, other = self.block(left), self.block(right)
        if isinstance(op, ast.Div) and one is not None and one.local.added:
            self._part(node, right, one.local.added & self._split_length(right), "length")
        if made is None:
            return None
        if one is not None and other is not None:
            mixed = (one.own & other.local.whole) | (other.own & one.local.whole)
            made = made._replace(local=made.local._replace(mixed=made.local.mixed | mixed))
        if isinstance(op, ast.Add | ast.Sub):
            return made
        lasting = made.local.lasting()
        if isinstance(op, ast.Div):
            return made._replace(local=lasting._replace(ratio=other.local.total if other is not None else frozenset()))
        if isinstance(op, ast.Mult) and one is not None and other is not None:
            scalars = [side.local for side in (one, other) if side.local != NOWHERE or side.dims]
            if len(scalars) == 1:
                return made._replace(local=lasting._replace(total=scalars[0].total, inner=scalars[0].inner))
        return made._replace(local=lasting)

    def _split_length(self, node: ast.expr) -> frozenset[str]:
        """The axes that split the dimension whose length in a device's block a number is."""
        found = self._length(node)
        block = self.block(found[0]) if found is not None else None
        if found is None or block is None or not -1 < found[1] < len(block.dims):
            return frozenset()
        return block.dims[found[1]] or frozenset()

    def _part(self, node: ast.expr, held: ast.expr, axes: frozenset[str], kind: Kind) -> None:
        if axes:
            self.parts.append(Part(self.module, node, held, axes, kind))

    def _curved(self, node: ast.expr, held: ast.expr) -> None:
        """Notes where something that is not linear is done to partial sums."""
        found = self.block(held)
        if found is not None:
            self._part(node, held, found.partial, "nonlinear")

    def _scaled(self, node: ast.expr, left: ast.expr, right: ast.expr) -> None:
        """Notes where a vector that is split, and that is for the last dimension by its name, meets one that is whole.

        A vector with one number for each device has another name, and fits whatever it meets.
        """
        for one, vector in ((left, right), (right, left)):
            block, whole = self.block(vector), self.block(one)
            named = isinstance(vector, ast.Name) and _VECTORS.search(vector.id)
            if not named or block is None or whole is None or len(block.dims) != 1 or len(whole.dims) < 2:
                continue
            axes, last = block.dims[0], whole.dims[-1]
            if axes and last is not None and not last:
                self.clashes.append(Clash(self.module, node, one, vector, (last, axes)))

    def product(self, node: ast.expr, left: ast.expr, right: ast.expr) -> Block | None:
        """A product of two matrices, which sums over the last dimension of one and the first of the other."""
        one, other = self.block(left), self.block(right)
        if one is None or other is None:
            return None
        fits = self._compare(node, (left, one.last), (right, other.rows))
        made = product(one, other) if fits else None
        return made._replace(partial=one.partial | other.partial) if made is not None and is_transposed(left) else made

    def _compare(self, node: ast.expr, *sides: tuple[ast.expr, Axes]) -> bool:
        """Whether dimensions that are summed over together are split alike; notes where not."""
        known = [(side, axes) for side, axes in sides if axes is not None]
        for side, axes in known[1:]:
            first, split = known[0]
            if axes != split:
                self.clashes.append(Clash(self.module, node, first, side, (split, axes)))
                return False
        return True

    # Indexing

    def _indexed(self, held: ast.expr, index: ast.expr) -> Block | None:
        found = self.block(held)
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        if found is None or not all(isinstance(one, ast.Constant | ast.Slice) for one in parts):
            return None
        taking = [one for one in parts if not _is(one, None) and not _is(one, ...)]
        if any(_is(one, ...) for one in parts) and not found.sure:
            return None
        rest = list(found.dims)
        if not found.sure:
            rest += [WHOLE] * (len(taking) - len(rest))
        if len(taking) > len(rest):
            return None
        filled = len(rest) - len(taking)
        if not any(_is(one, ...) for one in parts):
            parts = [*parts, ast.Constant(...)]
        dims: list[Axes] = []
        for one in parts:
            if _is(one, None):
                dims.append(WHOLE)
            elif _is(one, ...):
                dims += rest[:filled]
                rest = rest[filled:]
            else:
                axes = rest.pop(0)
                dims += [axes] if isinstance(one, ast.Slice) else []
        return found._replace(dims=tuple(dims))

    def _choose(self, node: ast.expr, held: ast.expr, index: ast.expr, position: int) -> None:
        """Notes where the index of the device along an axis chooses along a dimension that this axis has split.

        In what the function is given itself: of what is summed over the devices, each may well take another part.
        """
        found = self.block(held) if isinstance(held, ast.Name) and self.is_parameter(held) else None
        binding = only_binding(index, self.module) if isinstance(index, ast.Name) else None
        made = binding.value if binding is not None and binding.kind == "assign" and not binding.path else index
        if found is None or position >= len(found.dims) or not isinstance(made, ast.Call):
            return
        if self.resolver.value(made.func, self.module) != External(INDEX):
            return
        axis = argument(call_arguments(made, self.module), 0, "axis_name")
        names = axis_names(axis.expression, axis.module, self.resolver, {}) if axis is not None else None
        if names is not None and len(names) == 1 and names[0] in (found.dims[position] or ()):
            self.chosen.append(OwnPart(self.module, node, held, names[0]))

    # Calls

    def _call(self, node: ast.Call) -> Block | None:
        callee = self.resolver.value(node.func, self.module)
        if isinstance(callee, External):
            return self._library(node, callee.name)
        inner = called(callee, self.resolver) if self.depth < DEEPEST else None
        if inner is not None:
            return self._inner(inner, node)
        if isinstance(callee, Application) and isinstance(callee.callee, External) and callee.callee.name in GRADIENTS:
            loss = argument(callee.arguments, 0, "fun")
            values = self.resolver.argument_values(loss) if loss is not None else ()
            if len(values) == 1 and isinstance(values[0], Function) and self.depth < DEEPEST:
                self._inner(values[0], node)
            return None
        if is_layer(callee) and node.args:
            found = self.block(node.args[0])
            return unknown(len(found.dims)) if found is not None and found.sure else None
        return self._method(node) if isinstance(node.func, ast.Attribute) else None

    def _inner(self, callee: Function, node: ast.Call) -> Block | None:
        """A call of a function of the project, which is followed with the blocks that it is given."""
        if callee.node is self.function:
            return None
        given = {name: block for name, one in passed_to(callee, node) if (block := self.block(one)) is not None}
        inner = Evaluator(callee.node, callee.module, self.resolver, given, self.depth + 1, self)
        for name, one in passed_to(callee, node):
            passed = (
                self._axes_of(Argument(None, one, self.module)) if isinstance(one, ast.Name | ast.Constant) else None
            )
            if passed:
                inner.axes[name] = passed
        if given:
            inner.run()
            self.clashes += inner.clashes
            self.chosen += inner.chosen
            self.parts += inner.parts
        return inner.returned()

    def _library(self, node: ast.Call, name: str) -> Block | None:
        if any(isinstance(one, ast.Starred) for one in node.args):
            return None
        arguments = call_arguments(node, self.module)
        if name in functions.CHOOSING and len(node.args) > 1:
            at = argument(arguments, 2, "axis")
            position = self.resolver.literal(at) if at is not None else functions.CHOOSING[name]
            if isinstance(position, int) and position >= 0:
                self._choose(node, node.args[0], node.args[1], position)
            return None
        if name in functions.PRODUCTS and len(node.args) == 2:
            return self.product(node, *node.args)
        if name in EINSUMS:
            return self._einsum(node)
        if name in functions.RANKS:
            if name.endswith(".arange"):
                self._counted(node)
            return unknown(functions.RANKS[name])
        if name in functions.SHAPED:
            return self._shaped(argument(arguments, functions.SHAPED[name], "shape"), name)
        return self._of_arrays(node, name, arguments) if node.args else None

    def _of_arrays(self, node: ast.Call, name: str, arguments: tuple[Argument, ...]) -> Block | None:
        if name in functions.CURVED:
            self._curved(node, node.args[0])
        if name in functions.NORMALISING:
            self._normalised(node, argument(arguments, 1, "axis"))
        if name in functions.SAME:
            if name in AXIS_POSITIONS:
                return self._communicated(node, name, arguments)
            same = self.block(node.args[0])
            curved = same is not None and name in functions.CURVED
            return same._replace(local=same.local.lasting()) if same is not None and curved else same
        if name in functions.TOGETHER:
            return self._together(node, node.args)
        if name in functions.REDUCING:
            return self._reduced(name, self.block(node.args[0]), argument(arguments, 1, "axis"), arguments)
        return self._gathered(self.block(node.args[0]), arguments) if name in functions.GATHERS else None

    def _counted(self, node: ast.Call) -> None:
        """Notes positions that are counted along a dimension that is split: on each device from 0."""
        found = self._length(node.args[0]) if len(node.args) == 1 else None
        if found is not None and is_position(node, self.module):
            held, place = found
            block = self.block(held)
            axes = block.dims[place] if block is not None and 0 < place < len(block.dims) else None
            self._part(node, held, axes or frozenset(), "positions")

    def _length(self, node: ast.expr) -> tuple[ast.expr, int] | None:
        """The array and the dimension whose length a number is: `x.shape[1]`, also under a name."""
        match node:
            case ast.Subscript(value=ast.Attribute(value=held, attr="shape"), slice=ast.Constant(value=int(place))):
                return held, place
            case ast.Name():
                binding = only_binding(node, self.module)
                if binding is None or binding.kind != "assign" or binding.value is None:
                    return None
                value, path = binding.value, binding.path
                if not path:
                    return self._length(value)
                index = path[0] if len(path) == 1 else None
                if isinstance(value, ast.Attribute) and value.attr == "shape" and isinstance(index, int):
                    return value.value, index
        return None

    def _method(self, node: ast.Call) -> Block | None:
        """A method of an array."""
        if not isinstance(node.func, ast.Attribute):
            return None
        held, name = node.func.value, node.func.attr
        arguments = call_arguments(node, self.module)
        if name in functions.SAME_METHODS:
            return self.block(held)
        if name in functions.REDUCING_METHODS:
            found = self.block(held)
            if found is None and name == "sum" and not arguments:
                return Block((), True)
            return None if found is None else self._reduced(name, found, argument(arguments, 0, "axis"), arguments)
        if name in ("ravel", "flatten"):
            return unknown(1)
        size = argument(arguments, None, "size")
        if name in functions.DRAWING_METHODS and size is not None:  # of numpy's generators
            return self._shaped(size, name)
        if name == "reshape" and not any(isinstance(one, ast.Starred) for one in node.args):
            if len(node.args) > 1:
                return unknown(len(node.args))
            count = entries(node.args[0], self.module, self.resolver) if node.args else None
            return None if count is None else unknown(count)
        return None

    def _communicated(self, node: ast.Call, name: str, arguments: tuple[Argument, ...]) -> Block | None:
        """What devices make together of their blocks; a mean of partial sums is noted."""
        found, given = self.block(node.args[0]), axis_given(name, arguments)
        names = self._axes_of(given)
        over = None if names is None else frozenset(names)
        if over is not None and self.function is not None and name in (MEAN, SUM):
            for leaf in leaves(node.args[0], self.function, self.module):
                self._put_together(node, leaf, name, over)
        return summed_up(found, over) if name == SUM else cleared(found, over)

    def _axes_of(self, given: Argument | None) -> tuple[str, ...] | None:
        """The names of axes that an argument is; what a parameter was passed, or has for its default."""
        node = given.expression if given is not None else None
        if given is None or node is None:
            return None
        if isinstance(node, ast.Name) and given.module is self.module and self.is_parameter(node):
            if node.id in self.axes:
                return self.axes[node.id]
            default = dict(defaults_of(self.function.args)).get(node.id) if self.function is not None else None
            text = default.value if isinstance(default, ast.Constant) else None
            if isinstance(text, str):
                return (text,)
        return axis_names(node, given.module, self.resolver, {})

    def _put_together(self, node: ast.expr, leaf: ast.expr, name: str, over: frozenset[str]) -> None:
        """Notes what devices put together of what each has of its block in another way than they should."""
        found = self.block(leaf)
        if found is None:
            return
        if name == MEAN:
            self._part(node, leaf, (found.partial | found.local.inner) & over, "averaged")
        else:
            self._part(node, leaf, found.local.mean & over, "summed")
            split = frozenset[str]().union(*(axes for axes in found.dims if axes))
            if found.partial & over:
                self._part(node, leaf, split & over - found.partial, "rows")
        self._part(node, leaf, found.local.ratio & over, "ratio")

    def _normalised(self, node: ast.Call, axis: Argument | None) -> None:
        """Notes a softmax and the like over features that are split."""
        found, over = self.block(node.args[0]), self._literal_axes(axis) if axis is not None else (-1,)
        if found is not None and over is not None:
            split = frozenset[str]().union(*(axes for axes in dimensions(found, over) if axes))
            self._part(node, node.args[0], split, "statistic")

    def _literal_axes(self, axis: Argument) -> tuple[int, ...] | None:
        over = self.resolver.literal(axis)
        over = (over,) if isinstance(over, int) else over
        return over if isinstance(over, tuple) and all(isinstance(n, int) for n in over) else None

    def _reduced(
        self, name: str, found: Block | None, axis: Argument | None, arguments: tuple[Argument, ...]
    ) -> Block | None:
        keep = argument(arguments, None, "keepdims")
        kept = keep is not None and self.resolver.literal(keep) is not False
        over = self._literal_axes(axis) if axis is not None else None
        everything = axis is None or self.resolver.literal(axis) is None
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
            made = made._replace(local=NOWHERE)
        return statistic(made, found, over) if name.rpartition(".")[2] in functions.STATISTICS else made

    def _shaped(self, shape: Argument | None, name: str) -> Block | None:
        """An array made with a shape; random numbers without one are one number."""
        if shape is None or shape.expression is None:
            return Block((), True) if name.startswith("jax.random.") else None
        match shape.expression:
            case ast.Attribute(value=held, attr="shape"):
                found = self.block(held)
                return unknown(len(found.dims)) if found is not None and found.sure else None
        count = entries(shape.expression, shape.module, self.resolver)
        if count is None:
            value = self.resolver.argument_values(shape)
            number = value[0].value if len(value) == 1 and isinstance(value[0], Constant) else None
            count = 1 if isinstance(number, int) else len(number) if isinstance(number, tuple) else None
        return None if count is None else unknown(count)

    def _gathered(self, found: Block | None, arguments: tuple[Argument, ...]) -> Block | None:
        """All devices' blocks side by side: their dimension is whole along the axis."""
        over = argument(arguments, 1, "axis_name")
        names = axis_names(over.expression, over.module, self.resolver, {}) if over is not None else None
        tiled, at = argument(arguments, None, "tiled"), argument(arguments, None, "axis")
        position = self.resolver.literal(at) if at is not None else 0
        if found is None or names is None or tiled is None or self.resolver.literal(tiled) is not True:
            return None
        if not isinstance(position, int) or not -len(found.dims) <= position < len(found.dims):
            return None
        if position < 0 and not found.sure:
            return None
        dims = list(found.dims)
        axes = dims[position]
        dims[position] = None if axes is None else axes - frozenset(names)
        return cleared(Block(tuple(dims), found.sure, found.partial, found.own), frozenset(names))

    def _einsum(self, node: ast.Call) -> Block | None:
        terms = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
        if not isinstance(terms, str):
            return None
        left, arrow, right = terms.replace(" ", "").partition("->")
        split = left.split(",")
        if "." in left or len(split) != len(node.args) - 1:
            return None
        sides: dict[str, list[tuple[ast.expr, Axes]]] = {}
        for held, letter, axes in self._letters(node.args[1:], split):
            sides.setdefault(letter, []).append((held, axes))
        if not all(self._compare(node, *several) for several in sides.values()) or not arrow:
            return None
        found = {letter: {axes for _, axes in several} for letter, several in sides.items()}
        over = [one for letter, axes in found.items() if contracted(letter, split, right) for one in axes if one]
        known = [block for block in map(self.block, node.args[1:]) if block is not None]
        partial, own = frozenset[str]().union(*over, *(b.partial for b in known)), frozenset[str]()
        dims = tuple(next(iter(found[one])) if len(found.get(one, ())) == 1 else None for one in right)
        return Block(dims, True, partial, own.union(*(b.own for b in known)))

    def _letters(self, operands: list[ast.expr], terms: list[str]) -> Iterator[tuple[ast.expr, str, Axes]]:
        """Each letter of an einsum with the operand that has it and what splits that dimension."""
        for held, term in zip(operands, terms, strict=True):
            found = self.block(held)
            dims = found.dims if found is not None and len(found.dims) <= len(term) else (None,) * len(term)
            if found is not None and found.sure and len(found.dims) != len(term):
                dims = (None,) * len(term)
            yield from (
                (held, letter, axes) for letter, axes in zip(term, (*dims, *(WHOLE,) * len(term)), strict=False)
            )


def _is(node: ast.expr | None, value: object) -> bool:
    return isinstance(node, ast.Constant) and (node.value is value or (isinstance(value, str) and node.value == value))
