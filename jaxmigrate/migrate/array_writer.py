"""The operations on what made and undid the device axis, which is there no more."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from jaxmigrate.flow.layout.choices import OpChoice
from jaxmigrate.flow.layout.drawn_rows import sizes_behind
from jaxmigrate.flow.layout.idioms import CONSTANTS, LEADING, PATTERN, TILES, Idioms
from jaxmigrate.flow.layout.model import ENTRY, OBSERVED, PRESUMED, Op
from jaxmigrate.flow.layout.objects import REPLACES
from jaxmigrate.flow.layout.operations import CHAINED, COPIED, FETCHED_ROWS, SLICES, WITHIN, is_converted, is_fetched
from jaxmigrate.flow.layout.raw_keys import rank_of_keys
from jaxmigrate.flow.layout.shape_texts import pattern_sides, shape_given
from jaxmigrate.flow.layout.some_devices import SomeDevices
from jaxmigrate.flow.layout.values import Numpys
from jaxmigrate.migrate import placing, size_texts, taken_apart
from jaxmigrate.migrate.axis_names import AxisNames
from jaxmigrate.migrate.keys import key_fields
from jaxmigrate.migrate.names import FileNames
from jaxmigrate.migrate.read_alone import is_read_alone
from jaxmigrate.migrate.read_only import is_only_read, is_read_at_once, mapped_once
from jaxmigrate.migrate.sharing import Shared
from jaxmigrate.migrate.specs import display
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.narrow import says_narrow
from jaxmigrate.program.operations import (
    After,
    Before,
    Code,
    DropIndex,
    DropStatement,
    First,
    Operation,
    Part,
    Replace,
    code,
)
from jaxmigrate.program.passing import passed_by
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, External

FETCHES = named("fetches")
ARRAY_METHODS = frozenset({"astype", "dtype", "item", "mean", "sum", "tolist"})
PUT_REPLICATED = "jax.device_put_replicated"
KEPT = ("jax.numpy.stack", "jax.numpy.broadcast_to", "jax.lax.broadcast")  # which keep weak types
STACKS = "flax.training.common_utils.stack_forest"
BROADCAST = "jaxline.utils.bcast_local_devices"
COUNTS = {"jax.devices": "device_count", "jax.local_devices": "local_device_count"}
CHANGES = {  # what a process has of an array to all of it, and the reverse
    "global_rows": "host_local_array_to_global_array",
    "local_rows": "global_array_to_host_local_array",
}


@dataclass(frozen=True, slots=True)
class Program:
    """What the whole program says: whether it may run as several processes, and whether some code asks which it is.

    `unlike`: a map may give an output under `out_axes=None`, or an unchecked shard_map one under `P()`, that is not the
    same on all devices. `own`: where there are several processes, each has an array of its own of such an output.
    `placed`: some code keeps arrays on one device, beside which what lies on all of them is refused. `gives_up`: some
    code on the host deletes or donates arrays. `own_devices`: where there are several processes, each maps its arrays
    over devices of its own. `some`: all of them lie on these devices.
    """

    processes: bool
    guarded: bool
    unlike: bool = False
    own: bool = False
    placed: bool = False
    gives_up: bool = False
    own_devices: bool = False
    some: SomeDevices | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ArrayWriter:
    """Writes the operations of one file."""

    module: Module
    resolver: Resolver
    names: FileNames
    shared: Shared
    program: Program
    axes: AxisNames

    def write(self, choice: OpChoice) -> Iterator[Operation]:
        """What becomes of an operation; of stacked arrays it is kept as it is, but for those over all processes."""
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
        if not fields:
            yield from changed
        elif any(name.isdigit() for name in fields):
            yield self._of_parts(choice, fields)
        elif any(name.startswith(ENTRY) for name in fields):
            yield self._of_entries(choice, fields)
        elif choice.op.kind != "stack" and not isinstance(choice.op.operand, ast.Name | ast.Attribute):
            yield from self._named_first(choice, fields)  # what is lent, `states[0]` too, means the same twice
        elif choice.op.kind == "stack" and choice.rest:
            state = self.module.segment(choice.op.operand)
            stacked = ", ".join(f"{name}={self.shared.name('stack')}({state}.{name})" for name in choice.rest)
            yield Replace(choice.op.node, code(f"$operand.{choice.method}({stacked})", operand=choice.op.operand))
        else:
            whole = self._whole(choice)
            state = self.module.segment(choice.op.operand)
            made = self._fetched(choice, f"$whole{self._copied(choice, state, fields)}")
            yield Replace(choice.op.node, self._code(made, whole=whole))

    def write_put_keys(self, axis: str, replaced: Container[ast.expr]) -> Iterator[Operation]:
        """Keys that are split and put on all devices, a row each, by the function that lays out all else."""
        idioms = Idioms(self.resolver)
        for call in self.module.table.calls if "device_put_sharded" in self.module.text else ():
            match call.args:
                case [ast.Call(args=[keys], keywords=[]) as rows, _] if call not in replaced:
                    listed = idioms.external(rows.func, self.module) in ("builtins.list", "builtins.tuple")
                    if listed and idioms.makes_jax_array(keys, self.module) and idioms.puts_slices(call, self.module):
                        yield Replace(call, self._code(self.placed("$x", "$P($axis)", axis), x=keys))

    # an object some of whose fields stay as they are

    def _whole(self, choice: OpChoice) -> Code:
        """The operation on all of an object."""
        op = choice.op
        if op.kind == "replicate":
            return self._replicated(choice, op.operand)
        if op.kind == "stack":
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

    def _a_row_each(self, node: ast.AST, operand: str) -> str:
        """The source of as many rows of an operand as `jax.device_put_replicated` is given devices; empty elsewhere."""
        if not isinstance(node, ast.Call) or len(node.args) != 2:
            return ""
        if self.resolver.value(node.func, self.module) != External("jax.device_put_replicated"):
            return ""
        devices, numpy = node.args[1], self.names.of("jax.numpy")
        value = self.resolver.value(devices, self.module)
        made = value.callee if isinstance(value, Application) else None
        plain = isinstance(devices, ast.Call) and not (devices.args or devices.keywords)
        count = COUNTS.get(made.name) if plain and isinstance(made, External) else None
        rows = f"{self._jax}.{count}()" if count else f"len({self.module.segment(devices)})"
        if self._is_jax_array(node.args[0]):
            return f"{numpy}.broadcast_to({operand}, ({rows}, *{operand}.shape))"
        each = f"lambda x: {numpy}.broadcast_to(x, ({rows}, *{numpy}.shape(x)))"
        return f"{self._jax}.tree.map({each}, {operand})"

    def _fetched(self, choice: OpChoice, text: str) -> str:
        """The source of a whole object on the host, where its parts are not all of this process."""
        return f"{self._jax}.device_get({text})" if choice.op.form == "fetched" and choice.aligned else text

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

    def _stacked_list(self, op: Op) -> str:
        """The source of the rows that `jax.device_put_sharded` is given, where they are the same array each."""
        node = op.node
        if not isinstance(node, ast.Call) or node.keywords or not Idioms(self.resolver).puts_slices(node, self.module):
            return ""
        return f"{self.names.of('jax.numpy')}.stack($x)" if self._is_jax_array(op.operand) else ""

    def _is_jax_array(self, node: ast.expr) -> bool:
        """Whether a name certainly stands for one array of JAX's."""
        return isinstance(node, ast.Name) and Idioms(self.resolver).makes_jax_array(node, self.module)

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

    def _first_over_all(self, op: Op, operand: str, *, is_array: bool = False) -> str:
        """The source of the slice of this process's first device."""
        if op.form in ("tree", "fetched") and not is_array:
            return f"{self._jax}.tree.map(lambda x: x.addressable_data(0)[0], {operand})"
        return f"{operand}.addressable_data(0)[0]"

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

    # operations on all of an array

    @property
    def _jax(self) -> str:
        return self.names.of("jax")

    def _code(self, text: str, **parts: str | Part) -> Code:
        return code(text, P=self.names.of("jax.sharding.PartitionSpec") if "$P" in text else "", **parts)

    def placed(self, operand: str, spec: str, axis: str) -> str:
        """The source of something laid out over the mesh."""
        self.shared.note(axis, placed="$axis" in spec)
        quoted = self.axes.of(axis)
        return f"{self.shared.name('shard')}({operand}, {spec.replace('$axis', quoted)})"

    def _replicated(self, choice: OpChoice, operand: ast.expr) -> Code:
        before, after = self._typed(choice.op)
        if self.keeps_weak(choice.op):
            before, after = f"{self._jax}.tree.map({self.names.of('jax.numpy')}.asarray, ", ")"
        elif not self._holds_arrays(choice.op):
            self.shared.note_values(numbers=True)
        return self._code(self.placed(f"{before}$x{after}", "$P()", choice.axis), x=operand)

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
            case "stack":
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
                yield size_texts.said(choice, self._jax, self._count(), over_all=over_all)
            case "identity":
                yield self._put(op)
            case _:
                yield from self._first(choice)

    def _drawn(self, node: ast.expr) -> list[ast.expr] | None:
        """The sizes behind the first two of what an expression draws; None where it does something else."""
        return sizes_behind(Idioms(self.resolver), node, self.module)

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

    def _own_rows(self, operand: str, axis: str) -> str:
        """The source of this process's rows of an array that is split over all devices."""
        return self._rows("local_rows", operand, axis)

    def _rows(self, kind: str, operand: str, axis: str, *, is_short: bool = False) -> str:
        """The source of what changes between this process's rows and an array over all devices.

        Where that happens more than once, it has a function of the project, and where it has to be short.
        """
        self.shared.note(axis)
        quoted, name = self.axes.of(axis), self.shared.rows(kind, is_short=is_short)
        if name:
            return f"{name}({operand})"
        changed = self.names.of("jax.experimental.multihost_utils")
        mesh = f"{self.shared.name('get_mesh')}({quoted if self.shared.is_other(axis) else ''})"
        return f"{changed}.{CHANGES[kind]}({operand}, {mesh}, $P({quoted}))"

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
        rows = self._count() or f"{self._jax}.local_device_count()"
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

    def _count(self) -> str:
        """The source of the number of devices where they are not all; nothing where they are."""
        if self.program.some is not None:
            return self.shared.count(self.program.some)
        return f"{self._jax}.local_device_count()" if self.program.own_devices else ""

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

    def _stacked(self, choice: OpChoice) -> str:
        self.shared.note(choice.axis)
        return f"{self.shared.name('stack')}($x)"

    def _holds_arrays(self, op: Op) -> bool:
        """Whether what an operation replicates is certainly an array, and no tree that numbers of Python may be in."""
        idioms = Idioms(self.resolver)
        known = idioms.makes_array(op.operand, self.module) or idioms.is_array(op.operand, self.module)
        return "." in op.form or known

    def keeps_weak(self, op: Op) -> bool:
        """Whether an operand has to be made an array first, so that Python's numbers in it keep their weak dtypes."""
        idioms = Idioms(self.resolver)
        if op.kind != "checkpoint" and ("." in op.form or idioms.makes_array(op.operand, self.module)):
            return False
        called = idioms.called(op.node, self.module) if op.kind != "checkpoint" else BROADCAST
        kept = called == BROADCAST or (called == PUT_REPLICATED and says_narrow(self.resolver))
        return self.shared.weak_numbers(kept=kept)

    def _typed(self, op: Op) -> tuple[str, str]:
        """What keeps the dtype of a stack: jnp.stack keeps the weak type of a Python scalar, the others do not."""
        idioms, kept = Idioms(self.resolver), op.form in KEPT
        known = idioms.makes_array if kept else idioms.makes_strong
        assert isinstance(op.node, ast.Call)
        listed = op.form.endswith(".tile") and op.operand in op.node.args
        if "." not in op.form or (op.form in TILES and not listed) or known(op.operand, self.module):
            return "", ""
        owner = self._library_of(op.node.func)
        if listed:
            array = rank_of_keys(op.operand, self.module, self.resolver) > 0
            return ("", "") if array else (f"{owner or self.names.of('numpy')}.asarray(", ")")
        if kept:
            return f"{self.names.of('jax.numpy')}.asarray(", ")"
        if op.form.startswith("numpy.") and owner:
            return f"{owner}.asarray(", ")"
        if self._counts(op.operand):
            return f"{self.names.of('numpy')}.asarray(", ")"
        return f"{self.names.of('jax.numpy')}.array([", "])[0]"

    def _counts(self, node: ast.expr) -> bool:
        """Whether a name stands for a number of Python's that the program says and counts on."""
        scope = self.module.table.scope_of.get(node)
        holder = scope.lookup(node.id) if isinstance(node, ast.Name) and scope is not None else None
        bindings = holder.bindings[node.id] if isinstance(node, ast.Name) and holder is not None else []
        made = [self.module.table.statement_of(one.node) for one in bindings]
        values = [one.value for one in made if isinstance(one, ast.Assign | ast.AugAssign)]
        return len(values) == len(made) > 0 and all(
            isinstance(one, ast.Constant) and type(one.value) in (int, float) for one in values
        )

    def _sized(self, choice: OpChoice) -> Iterator[Operation]:
        """`x.reshape(n, b, ...)` and `x.reshape((n, -1) + sizes)`: the first two sizes become one."""
        op = choice.op
        assert isinstance(op.node, ast.Call)
        method = op.operand is not op.node.args[0]
        sizes = op.node.args if method else op.node.args[1:]
        apart = taken_apart.splits(op.node, op.operand, self.module)
        if apart is not None or taken_apart.are_of(sizes, Idioms(self.resolver).copied(op.operand, self.module)):
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
        idioms = Idioms(self.resolver)
        if op.form == LEADING and (
            idioms.makes_array(op.operand, self.module) or idioms.is_array(op.operand, self.module)
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

    @staticmethod
    def _listed(choice: OpChoice) -> Iterator[Operation]:
        """`np.concatenate(x)` of equal slices, which may be single numbers now."""
        op = choice.op
        assert isinstance(op.node, ast.Call)
        assert isinstance(op.node.func, ast.Attribute)
        if choice.layout == "replicated":
            yield Replace(op.node, code("$numpy.stack($x)", numpy=op.node.func.value, x=op.operand))

    @staticmethod
    def _averaged(choice: OpChoice) -> Replace:
        """`x.mean(0)` over the devices, of which there is one slice now: of a number that is `x.mean()`."""
        op = choice.op
        assert isinstance(op.node, ast.Call)
        if not choice.of_numbers:
            return Replace(op.operand, code("$itself[None]"))
        given = "$x" if op.operand in op.node.args else ""
        return Replace(op.node, code(f"$f({given})", f=op.node.func, x=op.operand))

    def _metrics(self, op: Op) -> Replace:
        """`get_metrics(m)` without its `x[0]`."""
        assert isinstance(op.node, ast.Call)
        owner = self._library_of(op.node.func)
        stacks = f"{owner}.stack_forest" if owner else self.names.of(STACKS)
        return Replace(op.node, code(f"{stacks}({self._jax}.device_get($x))", x=op.operand))

    def _first(self, choice: OpChoice) -> Iterator[Operation]:
        op = choice.op
        if choice.layout == "split":
            yield self._rows_of_first(op)
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

    def _rows_of_first(self, op: Op) -> Replace:
        """`x[: x.shape[0] // n]`: the first device's rows of a batch, of each process its own."""
        local = self.program.processes or self.program.placed
        count = self._count() or f"{self._jax}.device_count()"
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

    def _on_leaves(self, one: str, operand: str) -> str:
        """The source of what becomes of one array, on all arrays of a tree."""
        function = one.removesuffix("({})")
        each = f"lambda x: {one.format('x')}" if "{}" in function else function
        return f"{self._jax}.tree.map({each}, {operand})"

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

    def _numpy_of(self, operand: ast.expr) -> str | None:
        """What the file calls numpy where an operand is numpy's already, `np.asarray(x)`."""
        if not isinstance(operand, ast.Call) or not isinstance(operand.func, ast.Attribute):
            return None
        callee = self.resolver.value(operand.func, self.module)
        is_numpy = isinstance(callee, External) and callee.name.startswith("numpy.")
        return self._library_of(operand.func) or self.names.of("numpy") if is_numpy else None

    def _library_of(self, function: ast.expr) -> str:
        """What a file calls the library that it takes a function from; nothing where it has it otherwise.

        A module of the project's own that imports the function has no others of that library.
        """
        if not isinstance(function, ast.Attribute):
            return ""
        owner = self.resolver.value(function.value, self.module)
        return self.module.segment(function.value) if isinstance(owner, External) else ""

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


def is_stored(node: ast.AST) -> bool:
    """Whether an expression is what a statement assigns to."""
    return isinstance(getattr(node, "ctx", None), ast.Store)


def _asks_only(test: ast.expr) -> bool:
    """Whether a test reads names and attributes and does nothing else."""
    return not any(isinstance(one, ast.Call | ast.NamedExpr | ast.Await | ast.Yield) for one in ast.walk(test))


def _tuple(elements: Sequence[ast.expr]) -> Code:
    """The code of a tuple of elements of the file."""
    parts: dict[str, str | Part] = {f"s{i}": element for i, element in enumerate(elements)}
    return code(display([f"${name}" for name in parts]), **parts)
