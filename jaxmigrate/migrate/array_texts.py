"""The source of arrays that are laid out over the mesh."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from jaxmigrate.flow.layout import made_arrays
from jaxmigrate.flow.layout.choices import OpChoice
from jaxmigrate.flow.layout.idioms import Idioms
from jaxmigrate.flow.layout.kinds import OF_ARRAY, TILES
from jaxmigrate.flow.layout.listed_devices import ListedDevices
from jaxmigrate.flow.layout.model import Op
from jaxmigrate.flow.layout.raw_keys import rank_of_keys
from jaxmigrate.flow.layout.some_devices import SomeDevices
from jaxmigrate.migrate.axis_names import AxisNames
from jaxmigrate.migrate.listed_meshes import ListedMeshes
from jaxmigrate.migrate.names import FileNames
from jaxmigrate.migrate.sharing import Shared
from jaxmigrate.program.modules import Module
from jaxmigrate.program.narrow import says_narrow
from jaxmigrate.program.operations import Code, Part, code
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, External

PUT_REPLICATED = "jax.device_put_replicated"
KEPT = ("jax.numpy.stack", "jax.numpy.broadcast_to", "jax.lax.broadcast")  # which keep weak types
BROADCAST = "jaxline.utils.bcast_local_devices"
COUNTS = {"jax.devices": "device_count", "jax.local_devices": "local_device_count"}
CHANGES = {  # what a process has of an array to all of it, and the reverse
    "global_rows": "host_local_array_to_global_array",
    "local_rows": "global_array_to_host_local_array",
}


@dataclass(frozen=True, slots=True, eq=False)
class ArrayTexts:
    """The source of what becomes of arrays in one file."""

    module: Module
    resolver: Resolver
    names: FileNames
    shared: Shared
    program: Program
    axes: AxisNames
    meshes: ListedMeshes | None = None

    @property
    def _jax(self) -> str:
        return self.names.of("jax")

    def _code(self, text: str, **parts: str | Part) -> Code:
        return code(text, P=self.names.of("jax.sharding.PartitionSpec") if "$P" in text else "", **parts)

    def placed(self, operand: str, spec: str, axis: str) -> str:
        """The source of something laid out over the mesh."""
        self.shared.note(axis, placed="$axis" in spec)
        quoted = self.axes.of(axis)
        mesh = self.meshes.here(axis) if self.meshes is not None else ""
        if self.meshes is not None and not mesh:
            return operand  # a map lays it out
        mesh = f", {mesh}" if mesh else ""
        return f"{self.shared.name('shard')}({operand}, {spec.replace('$axis', quoted)}{mesh})"

    def _replicated(self, choice: OpChoice, operand: ast.expr) -> Code:
        before, after = self._typed(choice.op)
        if self.keeps_weak(choice.op):
            before, after = f"{self._jax}.tree.map({self.names.of('jax.numpy')}.asarray, ", ")"
        elif not self._holds_arrays(choice.op):
            self.shared.note_values(numbers=True)
        return self._code(self.placed(f"{before}$x{after}", "$P()", choice.axis), x=operand)

    def _stacked(self, choice: OpChoice) -> str:
        """The source of `$x` with its device axis again."""
        count = self._count(choice.axis) or f"{self._jax}.device_count()"
        of_array = choice.op.form == OF_ARRAY
        if choice.layout == "split":
            rows = "{0}.reshape(" + count + ", -1, *{0}.shape[1:])"
            return rows.format("$x") if of_array else f"{self._jax}.tree.map(lambda x: {rows.format('x')}, $x)"
        if of_array and choice.op.kind == "read":
            return f"{self.names.of('jax.numpy')}.broadcast_to($x, ({count}, *$x.shape))"
        self.shared.note(choice.axis)
        return f"{self.shared.name('stack')}($x)"

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

    def _own_rows(self, operand: str, axis: str) -> str:
        """The source of this process's rows of an array that is split over all devices."""
        return self._rows("local_rows", operand, axis)

    def _count(self, axis: str) -> str:
        """The source of the number of devices where they are not all; nothing where they are."""
        if self.meshes is not None:
            return self.meshes.count(axis)
        if self.program.some is not None:
            return self.shared.count(self.program.some)
        return f"{self._jax}.local_device_count()" if self.program.own_devices else ""

    def _on_leaves(self, one: str, operand: str) -> str:
        """The source of what becomes of one array, on all arrays of a tree."""
        function = one.removesuffix("({})")
        each = f"lambda x: {one.format('x')}" if "{}" in function else function
        return f"{self._jax}.tree.map({each}, {operand})"

    def _holds_arrays(self, op: Op) -> bool:
        """Whether what an operation replicates is certainly an array, and no tree that numbers of Python may be in."""
        if "." in op.form or made_arrays.makes_array(self.resolver, op.operand, self.module):
            return True
        return made_arrays.is_array(op.operand, self.module)

    def keeps_weak(self, op: Op) -> bool:
        """Whether an operand has to be made an array first, so that Python's numbers in it keep their weak dtypes."""
        idioms = Idioms(self.resolver)
        if op.kind != "checkpoint" and (
            "." in op.form or made_arrays.makes_array(self.resolver, op.operand, self.module)
        ):
            return False
        called = idioms.called(op.node, self.module) if op.kind != "checkpoint" else BROADCAST
        kept = called == BROADCAST or (called == PUT_REPLICATED and says_narrow(self.resolver))
        return self.shared.weak_numbers(kept=kept)

    def _typed(self, op: Op) -> tuple[str, str]:
        """What keeps the dtype of a stack: jnp.stack keeps the weak type of a Python scalar, the others do not."""
        kept = op.form in KEPT
        known = made_arrays.makes_array if kept else made_arrays.makes_strong
        assert isinstance(op.node, ast.Call)
        listed = op.form.endswith(".tile") and op.operand in op.node.args
        if "." not in op.form or (op.form in TILES and not listed) or known(self.resolver, op.operand, self.module):
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

    def _is_jax_array(self, node: ast.expr) -> bool:
        """Whether a name certainly stands for one array of JAX's."""
        return isinstance(node, ast.Name) and made_arrays.makes_jax_array(self.resolver, node, self.module)

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

    def _stacked_list(self, op: Op) -> str:
        """The source of the rows that `jax.device_put_sharded` is given, where they are the same array each."""
        node = op.node
        if not isinstance(node, ast.Call) or node.keywords or not Idioms(self.resolver).puts_slices(node, self.module):
            return ""
        return f"{self.names.of('jax.numpy')}.stack($x)" if self._is_jax_array(op.operand) else ""

    def _library_of(self, function: ast.expr) -> str:
        """What a file calls the library that it takes a function from; nothing where it has it otherwise.

        A module of the project's own that imports the function has no others of that library.
        """
        if not isinstance(function, ast.Attribute):
            return ""
        owner = self.resolver.value(function.value, self.module)
        return self.module.segment(function.value) if isinstance(owner, External) else ""

    def _numpy_of(self, operand: ast.expr) -> str | None:
        """What the file calls numpy where an operand is numpy's already, `np.asarray(x)`."""
        if not isinstance(operand, ast.Call) or not isinstance(operand.func, ast.Attribute):
            return None
        callee = self.resolver.value(operand.func, self.module)
        is_numpy = isinstance(callee, External) and callee.name.startswith("numpy.")
        return self._library_of(operand.func) or self.names.of("numpy") if is_numpy else None


@dataclass(frozen=True, slots=True)
class Program:
    """What the whole program says: whether it may run as several processes, and whether some code asks which it is.

    `unlike`: a map may give an output under `out_axes=None`, or an unchecked shard_map one under `P()`, that is not the
    same on all devices. `own`: where there are several processes, each has an array of its own of such an output.
    `placed`: some code keeps arrays on one device, beside which what lies on all of them is refused. `gives_up`: some
    code on the host deletes or donates arrays. `own_devices`: where there are several processes, each maps its arrays
    over devices of its own. `some`: all of them lie on these devices. `lists`: on
    those of lists that the program makes as it runs.
    """

    processes: bool
    guarded: bool
    unlike: bool = False
    own: bool = False
    placed: bool = False
    gives_up: bool = False
    own_devices: bool = False
    some: SomeDevices | None = None
    lists: ListedDevices | None = None
