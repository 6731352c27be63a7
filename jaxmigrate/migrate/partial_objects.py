"""The operations on objects, tuples and dictionaries of which some parts stay stacked."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jaxmigrate.flow.layout.choices import OpChoice
from jaxmigrate.flow.layout.model import ENTRY, Op
from jaxmigrate.flow.layout.objects import REPLACES
from jaxmigrate.migrate.first_slices import FirstSlices
from jaxmigrate.migrate.keys import key_fields
from jaxmigrate.program.operations import After, Code, Operation, Replace, code

LENT = ("stack", "read")  # to code that gets stacked copies


@dataclass(frozen=True, slots=True, eq=False)
class PartialObjects(FirstSlices):
    """Writes what becomes of a whole and of those of its parts that stay as they are."""

    def _of_fields(self, choice: OpChoice, fields: Sequence[str]) -> Iterator[Operation]:
        """The operation on an object of which these fields stay as they are."""
        if any(name.isdigit() for name in fields):
            yield self._of_parts(choice, fields)
        elif any(name.startswith(ENTRY) for name in fields):
            yield self._of_entries(choice, fields)
        elif choice.op.kind not in LENT and not isinstance(choice.op.operand, ast.Name | ast.Attribute):
            yield from self._named_first(choice, fields)  # what is lent, `states[0]` too, means the same twice
        elif choice.op.kind in LENT and choice.rest:
            state = self.module.segment(choice.op.operand)
            stacked = ", ".join(f"{name}={self.shared.name('stack')}({state}.{name})" for name in choice.rest)
            yield Replace(choice.op.node, code(f"$operand.{choice.method}({stacked})", operand=choice.op.operand))
        else:
            whole = self._whole(choice)
            state = self.module.segment(choice.op.operand)
            made = self._fetched(choice, f"$whole{self._copied(choice, state, fields)}")
            yield Replace(choice.op.node, self._code(made, whole=whole))

    def _whole(self, choice: OpChoice) -> Code:
        """The operation on all of an object."""
        op = choice.op
        if op.kind == "replicate":
            return self._replicated(choice, op.operand)
        if op.kind in LENT:
            return code(f"{self.shared.name('stack')}($x)", x=op.operand)
        if op.form == "fetched" and not choice.aligned:
            return code(f"{self._jax}.device_get($x)", x=op.operand)
        one = self._one_of(choice)
        if one == "{}" or op.form == "fetched":
            return code("$x", x=op.operand)
        return code(self._on_leaves(one, "$x"), x=op.operand)

    def _copied(self, choice: OpChoice, state: str, fields: Sequence[str]) -> str:
        """`.replace(...)` with the operation on each of the stacked fields of a state."""
        kept = [f"{name}={self._stacked_part(choice, name, f'{state}.{name}')}" for name in fields]
        return f".{choice.method}({', '.join(kept)})"

    def _stacked_part(self, choice: OpChoice, name: str, operand: str) -> str:
        """The source of an operation on a part that stays stacked."""
        if name not in choice.aligned:
            return self._put_on_each(choice, operand) or self._again(choice.op, operand)
        if choice.op.kind == "first":
            return self._first_over_all(choice.op, operand, is_array=name in key_fields(self.resolver))
        return self.placed(self._again(choice.op, operand), "$P($axis)", choice.axis)

    def _put_on_each(self, choice: OpChoice, operand: str) -> str:
        """The source of a row for each device, where jax.device_put_replicated made them, on the mesh of all else.

        With several processes a map takes the rows of each; empty there, and for other operations.
        """
        rows = self._a_row_each(choice.op.node, operand) if not self.shared.several else ""
        return self.placed(rows, "$P($axis)", choice.axis) if rows else ""

    def _fetched(self, choice: OpChoice, text: str) -> str:
        """The source of a whole object on the host, where its parts are not all of this process."""
        return f"{self._jax}.device_get({text})" if choice.op.form == "fetched" and choice.aligned else text

    @staticmethod
    def _again(op: Op, operand: str) -> str:
        """The source of an operation on something else."""
        place = ast.parse(operand, mode="eval").body
        memo: dict[int, ast.AST] = {id(op.operand): place}
        return ast.unparse(copy.deepcopy(op.node, memo))

    def _of_parts(self, choice: OpChoice, kept: Sequence[str]) -> Replace:
        """`replicate((a, b))` of which some parts stay as they are: a tuple of what becomes of each."""
        op = choice.op
        if op.kind == "first":
            one = f"{self._jax}.device_get({{}})" if op.form == "fetched" else self._one_of(choice)
            replicate = one if op.form == "fetched" or one == "{}" else self._on_leaves(one, "{}")
        else:
            self.keeps_weak(op)
            self.shared.note_values(numbers=True)
            replicate = self.placed("{}", "$P()", choice.axis)
        if isinstance(op.operand, ast.Tuple):
            texts = [self.module.segment(part) for part in op.operand.elts]
            found = [
                self._stacked_part(choice, str(i), t) if str(i) in kept else replicate.format(t)
                for i, t in enumerate(texts)
            ]
            return Replace(op.node, self._code(f"({', '.join(found)})"))
        name, count = self.module.segment(op.operand), len(op.group.find().fields)
        runs = [[*run] for _, run in itertools.groupby(range(count), lambda i: str(i) in kept)]
        found = []
        for first, *rest in runs:
            part = f"{name}[{first}:{rest[-1] + 1}]" if rest else f"{name}[{first}]"
            made = self._stacked_part(choice, str(first), part) if str(first) in kept else replicate.format(part)
            found.append(f"{'*' if rest else ''}{made}")
        return Replace(op.node, self._code(f"({', '.join(found)})"))

    def _of_entries(self, choice: OpChoice, kept: Sequence[str]) -> Replace:
        """`unreplicate(metrics)` of which some entries stay stacked: a dictionary of what becomes of each."""
        name = self.module.segment(choice.op.operand)
        entries = []
        for one in kept:
            part = self._stacked_part(choice, one, f"{name}{one}")
            entries.append(f"{one[1:-1]}: {part.replace(repr(ast.literal_eval(one)), one)}")
        made = self._fetched(choice, f"{{**$whole, {', '.join(entries)}}}")
        return Replace(choice.op.node, self._code(made, whole=self._whole(choice)))

    def _named_first(self, choice: OpChoice, fields: Sequence[str]) -> Iterator[Operation]:
        """`x = replicate(make())` in two statements, so that the fields have a name."""
        op, statement = choice.op, self.module.table.parents[choice.op.node]
        assert isinstance(statement, ast.Assign)
        name = self.module.segment(statement.targets[0])
        yield Replace(op.node, code("$x", x=op.operand))
        whole = self._around_name(choice, name)
        made = self._fetched(choice, f"{whole}{self._copied(choice, name, fields)}")
        yield After(statement, self._code(f"{name} = {made}"))

    def _around_name(self, choice: OpChoice, name: str) -> str:
        if choice.op.kind == "replicate":
            self.keeps_weak(choice.op)
            self.shared.note_values(numbers=True)
            return self.placed(name, "$P()", choice.axis)
        if choice.op.form == "fetched":
            return name if choice.aligned else f"{self._jax}.device_get({name})"
        one = self._one_of(choice)
        return name if one == "{}" else self._on_leaves(one, name)

    def _replaced_next(self, node: ast.expr) -> set[str | None]:
        """The fields that a program itself replaces at once: `replicate(state).replace(rng=...)`."""
        parents = self.module.table.parents
        method = parents.get(node)
        call = parents.get(method) if isinstance(method, ast.Attribute) and method.attr in REPLACES else None
        return {k.arg for k in call.keywords} if isinstance(call, ast.Call) and call.func is method else set()
