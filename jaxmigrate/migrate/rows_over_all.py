"""The operations on arrays that stay stacked, over the devices of all processes."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from jaxmigrate.flow.layout.choices import OpChoice
from jaxmigrate.flow.layout.operations import SLICES
from jaxmigrate.migrate.entering_arrays import EnteringArrays
from jaxmigrate.migrate.first_slices import FirstSlices
from jaxmigrate.program.operations import After, Operation, Replace, code


@dataclass(frozen=True, slots=True, eq=False)
class RowsOverAll(FirstSlices, EnteringArrays):
    """Writes what makes of the rows of each process one array, and takes them from it."""

    def _over_all(self, choice: OpChoice) -> Operation:
        """What becomes of an operation on stacked arrays over all processes."""
        op = choice.op
        if op.kind == "identity":
            return self._put(op)
        if op.kind in ("given", "taken") and op.form and not is_stored(op.node):
            return self._called_by_others(choice)
        if op.kind == "taken":
            return self._taken(choice)
        if op.kind == "kept":
            return self._where_it_enters(choice, self._rows("global_rows", "$itself", choice.axis, is_short=True))
        if op.kind == "first":
            first = self._first_over_all(op, "$x")
            text = f"{self._jax}.device_get({first})" if op.form == "fetched" else first
            return Replace(op.node, code(text, x=op.operand))
        if op.form == "each":
            return self._each("$itself(batch)", choice)
        if op.form == SLICES:
            stack = f"{self._jax}.tree.map(lambda *x: {self.names.of('jax.numpy')}.stack(x), *$x)"
            return Replace(op.node, self._code(self.placed(stack, "$P($axis)", choice.axis), x=op.operand))
        if op.kind == "replicate" and (rows := self._a_row_each(op.node, "$x") or self._stacked_list(op)):
            given = op.node.args[0] if isinstance(op.node, ast.Call) else op.operand
            return Replace(op.node, self._code(self.placed(rows, "$P($axis)", choice.axis), x=given))
        return self._where_it_enters(choice, self.placed("$itself", "$P($axis)", choice.axis))

    def _taken(self, choice: OpChoice) -> Operation:
        """This process's rows of what a call gives: of the whole of it, or of those of its parts that have names."""
        op = choice.op
        if not is_stored(op.node):
            return self._where_it_enters(choice, self._rows("local_rows", "$itself", choice.axis, is_short=True))
        statement, names = self.module.table.statement_of(op.node), op.form
        assert statement is not None
        rows = self._rows("local_rows", f"({names})" if "," in names else names, choice.axis)
        return After(statement, self._code(f"{names} = {rows}"))

    def _called_by_others(self, choice: OpChoice) -> Replace:
        """A map as a function of the same arguments, of which those behind `=` are the rows of this process."""
        given = choice.op.form.split(", ")
        names = ", ".join(name.removeprefix("=") for name in given)
        placed = [self.placed(n[1:], "$P($axis)", choice.axis) if n.startswith("=") else n for n in given]
        called = f"$itself({', '.join(placed)})"
        called = self._rows("local_rows", called, choice.axis, is_short=True) if choice.op.kind == "taken" else called
        return Replace(choice.op.node, self._code(f"lambda {names}: {called}"))

    def _each(self, made: str, choice: OpChoice) -> Replace:
        """`map(shard, batches)`: what splits each of the batches that an iterator gives."""
        return Replace(choice.op.node, self._code(f"lambda batch: {self.placed(made, '$P($axis)', choice.axis)}"))


def is_stored(node: ast.AST) -> bool:
    """Whether an expression is what a statement assigns to."""
    return isinstance(getattr(node, "ctx", None), ast.Store)
