"""What becomes of arrays that come from code that is not seen, where they come from it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import cast

from jaxmigrate.flow.layout.choices import OpChoice
from jaxmigrate.flow.layout.drawn_rows import sizes_behind
from jaxmigrate.flow.layout.idioms import Idioms
from jaxmigrate.flow.layout.model import OBSERVED, Op
from jaxmigrate.migrate.array_texts import ArrayTexts
from jaxmigrate.migrate.read_alone import is_read_alone
from jaxmigrate.program.operations import After, Before, First, Operation, Replace, code


@dataclass(frozen=True, slots=True, eq=False)
class EnteringArrays(ArrayTexts):
    """Writes what lays out arrays that enter a program, and takes what they were put on the devices by."""

    def _where_it_enters(self, choice: OpChoice, text: str) -> Operation:
        """What becomes of something that comes from out of sight, where it stands, or where a name gets it."""
        node = cast("ast.AST", choice.op.node)
        if isinstance(node, ast.arg):
            function = self.module.table.function_of(node)
            assert isinstance(function, ast.FunctionDef)
            return First(function, self._code(f"{node.arg} = {text.replace('$itself', node.arg)}"))
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            statement, name = self.module.table.statement_of(node), self.module.segment(node)
            assert statement is not None
            return After(statement, self._code(f"{name} = {text.replace('$itself', name)}"))
        if isinstance(node, ast.Name) and ".tree.map(" in text and is_read_alone(node, self.module, self.resolver):
            statement = self.module.table.statement_of(node)
            assert statement is not None
            return Before(statement, self._code(f"{node.id} = {text.replace('$itself', node.id)}"))
        return Replace(choice.op.node, self._code(text))

    def _entered(self, choice: OpChoice) -> str:
        """The source of what comes stacked from out of sight, without its device axis.

        What no run has shown is presumed to have a row for each device, and a batch a second axis: else reshape raises.
        """
        rows = self._count(choice.axis) or f"{self._jax}.local_device_count()"
        seen = choice.op.form == OBSERVED
        if choice.layout == "replicated":
            first = "x[0]" if seen else f"x.reshape({rows}, *x.shape[1:])[0]"
            return self.placed(f"{self._jax}.tree.map(lambda x: {first}, $itself)", "$P()", choice.axis)
        flattens = "" if seen else self.shared.flattens
        if flattens:
            return self.placed(f"{flattens}($itself)", "$P($axis)", choice.axis)
        size = "-1" if seen else f"{rows} * x.shape[1]"
        joined = f"{self._jax}.tree.map(lambda x: x.reshape({size}, *x.shape[2:]), $itself)"
        return self.placed(joined, "$P($axis)", choice.axis)

    def _drawn(self, node: ast.expr) -> list[ast.expr] | None:
        """The sizes behind the first two of what an expression draws; None where it does something else."""
        return sizes_behind(Idioms(self.resolver), node, self.module)

    def _put(self, op: Op) -> Replace:
        """What a map gave back that only put slices on the devices: a copy, unless nobody has the original."""
        whole = f"{self._jax}.tree.map({self.names.of('jax.numpy')}.copy, $x)"
        return Replace(op.node, code("$x" if self._is_passed_on(op.operand) else whole, x=op.operand))

    def _is_passed_on(self, operand: ast.expr) -> bool:
        """Whether nothing else holds what an expression gives: a new array, made in place or under a name read once."""
        if isinstance(operand, ast.Name):
            bindings = self.resolver.bindings_at(operand, self.module)
            made = bindings[0].value if len(bindings) == 1 and not bindings[0].path else None
            if made is None or self.module.table.named.get(operand.id, []) != [operand]:
                return False
            operand = made
        found = Idioms(self.resolver).of_array(operand, self.module) if isinstance(operand, ast.Call) else None
        return found is not None and found.kind in ("replicate", "split")
