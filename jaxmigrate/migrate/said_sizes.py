"""The operations on what makes the device axis by the sizes that it says."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jaxmigrate.flow.layout import made_arrays
from jaxmigrate.flow.layout.choices import OpChoice
from jaxmigrate.flow.layout.kinds import LEADING
from jaxmigrate.flow.layout.model import Op
from jaxmigrate.flow.layout.shape_texts import pattern_sides, shape_given
from jaxmigrate.migrate import taken_apart
from jaxmigrate.migrate.array_texts import ArrayTexts
from jaxmigrate.migrate.specs import display
from jaxmigrate.program.operations import Code, DropStatement, Operation, Part, Replace, code


@dataclass(frozen=True, slots=True, eq=False)
class SaidSizes(ArrayTexts):
    """Writes reshapes, patterns and shapes without the size of the device axis."""

    def _sized(self, choice: OpChoice) -> Iterator[Operation]:
        """`x.reshape(n, b, ...)` and `x.reshape((n, -1) + sizes)`: the first two sizes become one."""
        op = choice.op
        assert isinstance(op.node, ast.Call)
        method = op.operand is not op.node.args[0]
        sizes = op.node.args if method else op.node.args[1:]
        apart = taken_apart.splits(op.node, op.operand, self.module)
        if apart is not None or taken_apart.are_of(sizes, made_arrays.copied(self.resolver, op.operand, self.module)):
            yield from [DropStatement(apart.statement)] if apart is not None else []
            yield Replace(op.node, self._code(self.placed("$x", "$P($axis)", choice.axis), x=op.operand))
            return
        shape = sizes[0] if len(sizes) == 1 else None
        before = shape.left if isinstance(shape, ast.BinOp) else None
        whole = before or shape
        if isinstance(whole, ast.Tuple | ast.List):
            yield Replace(op.node, self._code(self.placed("$itself", "$P($axis)", choice.axis)))
            one, parts = self._one_size(op, whole.elts)
            more = "".join(f", $s{i}" for i in range(2, len(whole.elts)))
            comma = "," if not more and isinstance(whole, ast.Tuple) else ""
            rest: dict[str, str | Part] = {f"s{i}": e for i, e in enumerate(whole.elts)}
            opening, closing = ("(", ")") if isinstance(whole, ast.Tuple) else ("[", "]")
            yield Replace(whole, code(f"{opening}{one}{more}{comma}{closing}", **{**rest, **parts}))
            return
        one, parts = self._one_size(op, sizes)
        given = {f"a{i}": a for i, a in enumerate([*op.node.args[: len(op.node.args) - len(sizes)], *sizes[2:]])}
        names = [f"${name}" for name in given]
        names.insert(len(op.node.args) - len(sizes), one)
        reshaped = self.placed(f"$f({', '.join(names)})", "$P($axis)", choice.axis)
        yield Replace(op.node, self._code(reshaped, f=op.node.func, **given, **parts))

    def _rearranged(self, choice: OpChoice) -> Iterator[Operation]:
        """`rearrange(x, "(d b) c -> d b c", d=n)`: the first two axes stay one."""
        op = choice.op
        assert isinstance(op.node, ast.Call)
        split, pattern = "$P($axis)", op.node.args[1]
        assert isinstance(pattern, ast.Constant)
        if op.form == LEADING and (
            made_arrays.makes_array(self.resolver, op.operand, self.module)
            or made_arrays.is_array(op.operand, self.module)
        ):
            yield Replace(op.node, self._code(self.placed("$x", split, choice.axis), x=op.operand))
            return
        sides = pattern_sides(str(pattern.value))
        assert sides is not None
        before, (devices, rows, *rest) = sides
        joined = " ".join([*before, "->", f"({devices} {rows})", *rest])
        yield Replace(op.node, self._code(self.placed("$itself", split, choice.axis)))
        yield Replace(pattern, code(f"{self.axes.quote}{joined}{self.axes.quote}"))

    @staticmethod
    def _one_size(op: Op, sizes: Sequence[ast.expr]) -> tuple[str, dict[str, str | Part]]:
        if op.form != "product":
            return "-1", {}
        return "$s0 * $s1", {"s0": sizes[0], "s1": sizes[1]}

    def _wider(self, choice: OpChoice) -> Iterator[Operation]:
        """`broadcast_to(x, (n, k) + x.shape)`: to the other sizes first, then to all devices."""
        op = choice.op
        assert isinstance(op.node, ast.Call)
        shape = op.node.args[1]
        sizes = shape.left if isinstance(shape, ast.BinOp) else shape
        assert isinstance(sizes, ast.Tuple)
        yield Replace(sizes, _tuple(sizes.elts[1:]))
        yield Replace(op.node, self._code(self.placed("$itself", "$P()", choice.axis)))

    def _constant(self, choice: OpChoice) -> Iterator[Operation]:
        """`jnp.zeros((n, 3))`: an array of the other sizes, which is the same for all devices."""
        op = choice.op
        assert isinstance(op.node, ast.Call)
        shape = shape_given(op.node)
        assert shape is not None
        yield Replace(op.node, self._code(self.placed("$itself", "$P()", choice.axis)))
        if isinstance(shape, ast.BinOp) and isinstance(shape.left, ast.Tuple) and len(shape.left.elts) == 1:
            yield Replace(shape, code("$rest", rest=shape.right))
            return
        sizes = shape.left if isinstance(shape, ast.BinOp) else shape
        rest = sizes.elts[1:] if isinstance(sizes, ast.Tuple | ast.List) else []
        yield Replace(sizes, _tuple(rest))


def _tuple(elements: Sequence[ast.expr]) -> Code:
    """The code of a tuple of elements of the file."""
    parts: dict[str, str | Part] = {f"s{i}": element for i, element in enumerate(elements)}
    return code(display([f"${name}" for name in parts]), **parts)
