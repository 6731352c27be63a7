"""The operations on what made and undid the device axis, which is there no more."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from dataclasses import dataclass

from jaxmigrate.flow.layout import made_arrays
from jaxmigrate.flow.layout.choices import OpChoice
from jaxmigrate.flow.layout.idioms import Idioms
from jaxmigrate.flow.layout.kinds import CONSTANTS, LEADING, PATTERN
from jaxmigrate.flow.layout.model import OBSERVED, PRESUMED, Op
from jaxmigrate.flow.layout.operations import CHAINED, COPIED, FETCHED_ROWS, WITHIN
from jaxmigrate.flow.layout.values import Numpys
from jaxmigrate.migrate import size_texts, taken_apart
from jaxmigrate.migrate.partial_objects import PartialObjects
from jaxmigrate.migrate.rows_over_all import RowsOverAll
from jaxmigrate.migrate.said_sizes import SaidSizes
from jaxmigrate.program.library import named
from jaxmigrate.program.operations import DropIndex, DropStatement, Operation, Replace, code
from jaxmigrate.program.passing import passed_by

FETCHES = named("fetches")


@dataclass(frozen=True, slots=True, eq=False)
class ArrayWriter(RowsOverAll, PartialObjects, SaidSizes):
    """Writes the operations of one file."""

    def write(self, choice: OpChoice) -> Iterator[Operation]:
        """What becomes of an operation; of stacked arrays it is kept as it is, but for those over all processes."""
        if self.meshes is not None:
            self.meshes.node = choice.op.node
        if choice.written:
            self.shared.note_values(written=True)
        if choice.op.kind == "first" and choice.op.form == WITHIN:
            yield from self._within_first(choice)
            return
        if choice.layout == "stacked":
            yield self._over_all(choice)
            return
        if choice.op.kind == "type":
            return  # which is the same of an object whatever its fields hold
        changed = list(self._global(choice))
        fields = [name for name in choice.fields if name not in self._replaced_next(choice.op.node)]
        yield from self._of_fields(choice, fields) if fields else changed

    def write_put_keys(self, axis: str, replaced: Container[ast.expr]) -> Iterator[Operation]:
        """Keys that are split and put on all devices, a row each, by the function that lays out all else."""
        idioms = Idioms(self.resolver)
        for call in self.module.table.calls if "device_put_sharded" in self.module.text else ():
            match call.args:
                case [ast.Call(args=[keys], keywords=[]) as rows, _] if call not in replaced:
                    listed = idioms.external(rows.func, self.module) in ("builtins.list", "builtins.tuple")
                    is_array = listed and made_arrays.makes_jax_array(self.resolver, keys, self.module)
                    if is_array and idioms.puts_slices(call, self.module):
                        yield Replace(call, self._code(self.placed("$x", "$P($axis)", axis), x=keys))

    def _global(self, choice: OpChoice) -> Iterator[Operation]:  # noqa: C901 - one case a kind
        op = choice.op
        split = "$P($axis)"
        match op.kind:
            case "split" if op.form == OBSERVED and (behind := self._drawn(op.node)) is not None:
                sizes = ", ".join(["-1", *(f"$s{i}" for i in range(len(behind)))])
                text = self.placed(f"$itself.reshape({sizes})", split, choice.axis)
                yield Replace(op.node, self._code(text, **{f"s{i}": ast.unparse(s) for i, s in enumerate(behind)}))
            case "replicate" | "split" if op.form in (OBSERVED, PRESUMED):
                yield self._where_it_enters(choice, self._entered(choice))
            case "replicate" if op.form in CONSTANTS:
                yield from self._constant(choice)
            case "replicate" if op.form == "wider":
                yield from self._wider(choice)
            case "replicate":
                yield Replace(op.node, self._replicated(choice, op.operand))
            case "rows":
                yield self._where_it_enters(choice, self.placed("$itself", split, choice.axis))
            case "merge":
                yield from self._merge(choice)
            case "split" if op.form in ("sizes", "product"):
                yield from self._sized(choice)
            case "split" if op.form in (LEADING, PATTERN):
                yield from self._rearranged(choice)
            case "inner":
                assert isinstance(op.node, ast.Subscript)
                yield DropIndex(op.node, 0)
            case "split" if op.form == "each":
                yield self._each("batch", choice)
            case "split":
                yield Replace(op.node, self._code(self.placed("$x", split, choice.axis), x=op.operand))
            case "stack" | "read":
                yield Replace(op.node, code(self._stacked(choice), x=op.operand))
            case "prefetch":
                assert isinstance(op.node, ast.Call)
                given = passed_by(op.node, ("iterator", "size", "devices"))
                if "devices" not in given:
                    yield Replace(op.node.func, code(self.shared.name("prefetch")))
                else:
                    prefetch = f"{self.shared.name('prefetch')}($x, $size)"
                    yield Replace(op.node, code(prefetch, x=op.operand, size=given["size"]))
            case "metrics":
                yield self._metrics(op)
            case "checkpoint":
                return
            case "averaged":
                yield self._averaged(choice)
            case "listed":
                yield from self._listed(choice)
            case "whole":
                yield Replace(op.node, code("$at[...]", at=op.operand))
            case "size":
                over_all = self.program.processes and not self.program.own_devices
                whole = taken_apart.joins(op.node, self.module) if choice.layout == "split" and not over_all else None
                if whole is not None:
                    yield DropStatement(whole.statement)
                    yield Replace(whole.call, code("$x", x=whole.array))
                    return
                yield size_texts.said(choice, self._jax, self._count(choice.axis), over_all=over_all)
            case "identity":
                yield self._put(op)
            case _:
                yield from self._first(choice)

    def _merge(self, choice: OpChoice) -> Iterator[Operation]:
        """`x.reshape(-1, *x.shape[2:])`, which is the array itself; of several processes each takes its own rows.

        Of an array whose buffer a map is given it takes a copy, as a reshape did.
        """
        op, numpy = choice.op, self.names.of("jax.numpy") if choice.donated else ""
        fetch, array = self._fetch(op.operand)
        rows, whole, parts = "$x", "$x", {"x": op.operand}
        if self.program.processes and not self.program.own_devices:
            rows = self._own_rows("$x", choice.axis)
            whole, parts = (f"$fetch({rows})", {"x": array, "fetch": fetch}) if fetch is not None else (rows, parts)
        if op.form == FETCHED_ROWS:
            if rows != "$x":
                yield Replace(array, self._code(rows.replace("$x", "$itself")))
        elif op.form == "same":
            rows = f"{numpy}.copy({rows})" if numpy else rows
            if rows != "$x":
                yield Replace(array, self._code(rows.replace("$x", "$itself")))
        elif op.form == CHAINED:
            yield self._chained(op, f"{numpy}.copy({whole})" if numpy else whole, parts)
        elif op.form == COPIED:
            assert isinstance(op.node, ast.Call)
            copies = f"{self._library_of(op.node.func) or self.names.of('numpy')}.array"
            yield Replace(op.node, self._code(f"{copies}({whole})", **parts))
        elif numpy and op.form != "tree":
            yield Replace(op.node, self._code(f"{numpy}.copy({whole})", **parts))
        elif op.puts_in_order or numpy:
            each = f"{numpy}.copy" if numpy else "lambda x: x"
            yield Replace(op.node, self._code(f"{self._jax}.tree.map({each}, {whole})", **parts))
        elif whole == "$x" and (statement := self._assigns_itself(op)) is not None:
            yield DropStatement(statement)
        else:
            yield Replace(op.node, self._code(whole, **parts))

    def _fetch(self, node: ast.expr) -> tuple[ast.expr | None, ast.expr]:
        """The function that fetches an array to the host, and the array: a process can only fetch its own rows."""
        match node:
            case ast.Call(func=func, args=[given], keywords=[]):
                if Idioms(self.resolver).external(func, self.module) in FETCHES:
                    return func, given
        return None, node

    def _chained(self, op: Op, rows: str, parts: dict[str, ast.expr]) -> Replace:
        """`chain(x)` for `chain(*x)`, of rows that are NumPy's where they were."""
        assert isinstance(op.node, ast.Call)
        of_numpy = op.numpys is Numpys.MADE
        one = f"{self.names.of('numpy')}.asarray({rows})" if of_numpy else rows
        starred = isinstance(op.node.args[0], ast.Starred)
        chain = op.node.func if starred or not isinstance(op.node.func, ast.Attribute) else op.node.func.value
        return Replace(op.node, self._code(f"$chain({one})", chain=chain, **parts))
