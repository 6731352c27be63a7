"""The operations on what took the first device's slice, or one number of all devices'."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from jaxmigrate.flow.layout.choices import OpChoice
from jaxmigrate.flow.layout.model import Op
from jaxmigrate.flow.layout.operations import is_converted, is_fetched
from jaxmigrate.flow.layout.values import Numpys
from jaxmigrate.migrate import placing
from jaxmigrate.migrate.array_texts import ArrayTexts
from jaxmigrate.migrate.read_only import is_only_read, is_read_at_once, mapped_once
from jaxmigrate.program.operations import DropIndex, DropStatement, Operation, Replace, code

ARRAY_METHODS = frozenset({"astype", "dtype", "item", "mean", "sum", "tolist"})
STACKS = "flax.training.common_utils.stack_forest"


@dataclass(frozen=True, slots=True, eq=False)
class FirstSlices(ArrayTexts):
    """Writes what becomes of one slice where all are one array."""

    def _first(self, choice: OpChoice) -> Iterator[Operation]:
        op = choice.op
        if choice.layout == "split":
            yield self._rows_of_first(op, choice.axis)
            return
        if op.form == "fetched":
            yield Replace(op.node, code(f"{self._jax}.device_get($x)", x=op.operand))
            return
        one = self._one_of(choice)
        if op.form == "tree" and one != "{}" and (use := mapped_once(op.node, self.resolver, self.module)) is not None:
            yield Replace(op.node, code("$x", x=op.operand))
            if not is_fetched(self.resolver, use, self.module):
                yield Replace(use, code(one.format("$itself")))
            return
        if one == "{}" and op.puts_in_order:
            yield Replace(op.node, code(f"{self._jax}.tree.map(lambda x: x, $x)", x=op.operand))
        elif one == "{}" and not choice.fields and (statement := self._assigns_itself(op)) is not None:
            yield DropStatement(statement)
        elif one == "{}":
            yield Replace(self._whole_choice(op), code("$x", x=op.operand))
        elif op.form != "tree" or self._is_array(op.node):
            yield Replace(op.node, code(one.format("$x"), x=op.operand))
        else:
            yield Replace(op.node, code(self._on_leaves(one, "$x"), x=op.operand))

    def _rows_of_first(self, op: Op, axis: str) -> Replace:
        """`x[: x.shape[0] // n]`: the first device's rows of a batch, of each process its own."""
        local = self.program.processes or self.program.placed
        count = self._count(axis) or f"{self._jax}.device_count()"
        each = "x.addressable_data(0)" if local else f"x[: x.shape[0] // {count}]"
        name = self.module.segment(op.operand)
        if op.form not in ("tree", "fetched") and isinstance(op.operand, ast.Name | ast.Attribute | ast.Subscript):
            text = f"{name}.addressable_data(0)" if local else f"{name}[: {name}.shape[0] // {count}]"
            return Replace(op.node, code(text))
        text = f"{self._jax}.tree.map(lambda x: {each}, $x)"
        return Replace(op.node, code(f"{self._jax}.device_get({text})" if op.form == "fetched" else text, x=op.operand))

    def _within_first(self, choice: OpChoice) -> Iterator[Operation]:
        """`x[0, 1]`, which becomes `x[1]`; over all processes it is of the slices of this one's first device."""
        op = choice.op
        assert isinstance(op.node, ast.Subscript)
        one = "{}.addressable_data(0)" if choice.layout == "stacked" else self._one_of(choice)
        if one != "{}":
            yield Replace(op.operand, code(one.format("$itself")))
        if choice.layout != "stacked":
            yield DropIndex(op.node, 0)

    def _first_over_all(self, op: Op, operand: str, *, is_array: bool = False) -> str:
        """The source of the slice of this process's first device."""
        if op.form in ("tree", "fetched") and not is_array:
            return f"{self._jax}.tree.map(lambda x: x.addressable_data(0)[0], {operand})"
        return f"{operand}.addressable_data(0)[0]"

    def _is_array(self, node: ast.expr) -> bool:
        """Whether what is read of a value shows that it is one array: a method that no class of the project has."""
        reads = self.module.table.parents.get(node)
        if not isinstance(reads, ast.Attribute) or reads.attr not in ARRAY_METHODS:
            return False
        return not any(f"def {reads.attr}(" in module.text for module in self.resolver.project.named)

    def _one_of(self, choice: OpChoice) -> str:
        """What becomes of one array of which device 0's slice was taken; one number of NumPy's is no array."""
        one = self._array_of(choice)
        unlike = choice.op.numpys is Numpys.FETCHED and not is_converted(self.resolver, choice.op.node, self.module)
        return f"{one}[()]" if unlike else one

    def _array_of(self, choice: OpChoice) -> str:
        numpy = self._numpy_of(choice.op.operand)
        copied = choice.donated or self.program.gives_up
        if choice.op.fetched or is_read_at_once(choice.op.node, self.resolver, self.module):
            return "{}"
        if choice.lent and not self.program.gives_up:
            return "{}"
        if not copied and is_only_read(choice.op.node, self.resolver, self.module):
            return "{}"
        from_one = self.program.placed and placing.takes_from_one(self.resolver, choice.op.node, self.module)
        local = self.program.guarded or from_one
        if numpy is None and choice.op.numpys is Numpys.FETCHED:
            return "{}.copy()" if copied else "{}"
        one = "{}.addressable_data(0)" if local and numpy is None and not choice.for_all else "{}"
        return f"{numpy or self.names.of('jax.numpy')}.copy({one})" if copied else one

    def _metrics(self, op: Op) -> Replace:
        """`get_metrics(m)` without its `x[0]`."""
        assert isinstance(op.node, ast.Call)
        owner = self._library_of(op.node.func)
        stacks = f"{owner}.stack_forest" if owner else self.names.of(STACKS)
        return Replace(op.node, code(f"{stacks}({self._jax}.device_get($x))", x=op.operand))

    @staticmethod
    def _averaged(choice: OpChoice) -> Replace:
        """`x.mean(0)` over the devices, of which there is one slice now: of a number that is `x.mean()`."""
        op = choice.op
        assert isinstance(op.node, ast.Call)
        if not choice.of_numbers:
            return Replace(op.operand, code("$itself[None]"))
        given = "$x" if op.operand in op.node.args else ""
        return Replace(op.node, code(f"$f({given})", f=op.node.func, x=op.operand))

    @staticmethod
    def _listed(choice: OpChoice) -> Iterator[Operation]:
        """`np.concatenate(x)` of equal slices, which may be single numbers now."""
        op = choice.op
        assert isinstance(op.node, ast.Call)
        assert isinstance(op.node.func, ast.Attribute)
        if choice.layout == "replicated":
            yield Replace(op.node, code("$numpy.stack($x)", numpy=op.node.func.value, x=op.operand))

    def _whole_choice(self, op: Op) -> ast.expr:
        """`unreplicate(x) if mapped else x`, of which both ways are one now; any other operation itself."""
        above = self.module.table.parents.get(op.node)
        ways = (above.body, above.orelse) if isinstance(above, ast.IfExp) else ()
        if not isinstance(above, ast.IfExp) or op.node not in ways or not _asks_only(above.test):
            return op.node
        other = above.orelse if op.node is above.body else above.body
        both = isinstance(other, ast.Name) and isinstance(op.operand, ast.Name) and other.id == op.operand.id
        return above if both else op.node

    def _assigns_itself(self, op: Op) -> ast.stmt | None:
        """`x = unreplicate(x)`, of which nothing is left, nor of an `if` around nothing else."""
        statement = self.module.table.parents.get(self._whole_choice(op))
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return None
        target, operand = statement.targets[0], op.operand
        same = isinstance(target, ast.Name) and isinstance(operand, ast.Name) and target.id == operand.id
        return self._without_test(statement) if same else None

    def _without_test(self, statement: ast.stmt) -> ast.stmt | None:
        """The statement that can go with one that goes: an `if` that holds it alone, and None where a block would end.

        A test that calls something stays.
        """
        if len(self.module.table.block_of(statement)) > 1:
            return statement
        above = self.module.table.parents.get(statement)
        if not isinstance(above, ast.If) or above.orelse or not _asks_only(above.test):
            return None
        return self._without_test(above)


def _asks_only(test: ast.expr) -> bool:
    """Whether a test reads names and attributes and does nothing else."""
    return not any(isinstance(one, ast.Call | ast.NamedExpr | ast.Await | ast.Yield) for one in ast.walk(test))
