"""Which groups of arrays change their representation: the largest choice in which every piece is proven."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from jaxmigrate.flow.layout import bodies, mapped
from jaxmigrate.flow.layout.buffers import is_result_written
from jaxmigrate.flow.layout.idioms import Idioms
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.onlookers import Onlookers
from jaxmigrate.flow.layout.state import Key, Op, SiteCall
from jaxmigrate.flow.layout.values import Cell, Pin
from jaxmigrate.flow.variance import Level, Var
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite, axis_of
from jaxmigrate.program.values import Argument, Constant, Function

Name = Literal["replicated", "split", "stacked", "broadcast", "static"]


TOO_LARGE = "the program is too large to be followed as a whole; run fix on the part of it that belongs together"
ALIGNED = {"rows", "argument", "output"}
REPLICABLE = {"replicate", "output", "argument", "first", "metrics", "numpy", "written"}


@dataclass(frozen=True, slots=True)
class Choice:
    """The layout of one argument or output; `reason` says why where it stays stacked.

    `aligned`: a stacked array that only mapped functions take and give, so that it can be an array over all processes.
    """

    layout: Name
    reason: str = ""
    aligned: bool = False


@dataclass(frozen=True, slots=True)
class Squeeze:
    """A parameter of a mapped function that is one array, stacked, and that no other map gives to that function."""

    index: int
    function: Function
    name: str


@dataclass(frozen=True, slots=True)
class SiteChoice:
    """What becomes of a mapped site.

    `outputs` has one entry for each element of the tuple that is returned, or one in all where `whole`. `blocked` says
    why the site cannot be a shard_map over global arrays at all. `squeezes` are the stacked arguments whose first axis
    the mapped function can drop itself.
    """

    site: MappedSite
    arguments: tuple[Choice, ...]
    outputs: tuple[Choice, ...]
    whole: bool
    axis: str
    blocked: str = ""
    squeezes: tuple[Squeeze, ...] = ()

    @property
    def is_global(self) -> bool:
        """Whether some argument or output is a global array."""
        return not self.blocked and any(c.layout in ("replicated", "split") for c in (*self.arguments, *self.outputs))


@dataclass(frozen=True, slots=True)
class OpChoice:
    """An operation whose text changes: what it made or took apart is `layout` over `axis` now."""

    op: Op
    layout: Name
    axis: str
    donated: bool


@dataclass(slots=True)
class Layouts:
    """The layouts of a project's arrays; `calls` are those that give a global site something by keyword."""

    sites: dict[ast.expr, SiteChoice] = field(default_factory=dict)
    calls: list[SiteCall] = field(default_factory=list)
    ops: list[OpChoice] = field(default_factory=list)


def layouts(
    resolver: Resolver,
    modules: Sequence[Module],
    sites: dict[ast.expr, MappedSite],
    processes: bool,
    axis: str,
    editable: Callable[[Module], bool],
    onlookers: Onlookers,
) -> Layouts:
    """Follows stacked arrays through the host code of modules.

    `axis` names the axes that have no name; `editable` says which modules may change; `onlookers` are those that join
    where they name something that leads to stacked arrays.
    """
    interpreter = Interpreter(resolver, modules, sites, Idioms(resolver), editable, onlookers)
    try:
        return _Solver(interpreter, axis, processes).solve() if interpreter.run() else all_stacked(sites, TOO_LARGE)
    except Exception as error:  # noqa: BLE001 - a fault of ours must not keep the rest of a project from its rewrite
        return all_stacked(sites, f"following the program failed ({type(error).__name__}: {error}); please report it")


def all_stacked(sites: Mapping[ast.expr, MappedSite], reason: str) -> Layouts:
    """No global array anywhere, for one reason."""
    return Layouts({node: SiteChoice(site, (), (), True, "", reason) for node, site in sites.items()})


class _Solver:
    """Starts from all groups global and drops those that something speaks against, until nothing does."""

    def __init__(self, it: Interpreter, axis: str, processes: bool) -> None:
        self.it = it
        self.axis = axis
        self.counts = self._counts()
        self.splittable = {"split", "argument", "prefetch"} | (set() if processes else {"merge", "output"})
        self.dropped: dict[Cell, str] = {}
        self.blocked = {site: self._statically_blocked(site) for site in it.sites}
        self.kinds = self._kinds()
        self.touching: dict[Cell, list[Key]] = {}
        self.of_site: dict[object, list[Cell]] = {}
        for key, cell in it.cells.items():
            if key[0] in ("argument", "output"):
                self.touching.setdefault(cell.find(), []).append(key)
                self.of_site.setdefault(key[1], []).append(cell)

    def solve(self) -> Layouts:
        while self._block() or self._drop_varying() or self._drop_useless():
            pass
        result = Layouts()
        for node in self.it.sites:
            result.sites[node] = self._choice(node)
        for call in self.it.calls.values():
            if call.node.keywords and result.sites[call.site].is_global:
                result.calls.append(call)
        for op in self.it.ops.values():
            layout = self._layout(op.cell)
            if op.kind == "rows":
                layout = "stacked" if self._is_aligned(op.cell, result) else None
            if layout is not None:
                result.ops.append(OpChoice(op, layout, self._axis_for(op.cell), self._is_donated(op.cell)))
        return self._aligned(result)

    def _aligned(self, result: Layouts) -> Layouts:
        """Says of each stacked array whether only mapped functions touch it."""
        for node, choice in result.sites.items():
            cells = [self._argument(node, i) for i in range(len(choice.arguments))]
            arguments = [self._mark(c, cell, result) for c, cell in zip(choice.arguments, cells, strict=True)]
            outputs = [self._mark(c, cell, result) for c, cell in zip(choice.outputs, self._outputs(node), strict=True)]
            result.sites[node] = replace(choice, arguments=tuple(arguments), outputs=tuple(outputs))
        return result

    def _mark(self, choice: Choice, cell: Cell | None, result: Layouts) -> Choice:
        is_stacked = choice.layout == "stacked" and cell is not None
        return replace(choice, aligned=True) if is_stacked and cell and self._is_aligned(cell, result) else choice

    def _is_aligned(self, cell: Cell, result: Layouts) -> bool:
        """Whether only mapped functions with specs take and give a group's arrays."""
        root = cell.find()
        keys = self.touching.get(root, [])
        sites = [result.sites[cast("ast.expr", key[1])] for key in keys]
        given = [key for key in keys if key[0] == "argument"]
        pure = not root.pins and not any(("plain", *key[1:3]) in self.it.variables for key in given)
        return pure and self.kinds.get(root, set()) <= ALIGNED and bool(sites) and all(s.is_global for s in sites)

    # Facts

    def _counts(self) -> dict[ast.expr, int]:
        """How many arguments each site is called with; -1 where calls differ."""
        found: dict[ast.expr, int] = {}
        for call in self.it.calls.values():
            count = len(call.arguments)
            found[call.site] = count if found.get(call.site, count) == count else -1
        return found

    def _kinds(self) -> dict[Cell, set[str]]:
        """By group, what makes and takes apart its arrays."""
        found: dict[Cell, set[str]] = {}
        for op in self.it.ops.values():
            found.setdefault(op.cell.find(), set()).add(op.kind)
            if op.kind == "replicate" and op.form.startswith("numpy."):
                found[op.cell.find()].add("numpy")
            if op.kind == "first" and is_result_written(op.node, op.module, self.it.resolver):
                found[op.cell.find()].add("written")
        for key, cell in self.it.cells.items():
            if key[0] in ("output", "argument", "rows"):
                found.setdefault(cell.find(), set()).add(str(key[0]))
        return found

    def _statically_blocked(self, node: ast.expr) -> str:  # noqa: C901 - one test a reason
        site = self.it.sites[node]
        if node in self.it.escaped:
            return f"the mapped function {describe(self.it.escaped[node], site.module)}"
        if self.counts.get(node, 0) == -1:
            return "it is called with a different number of arguments in different places"
        if node not in self.counts:
            return "no call of it is in sight"
        if site.is_open:
            return "a star hides what is given to pmap"
        for name in ("devices", "backend", "axis_size"):
            given = site.keyword(name)
            usual = given is not None and name == "devices" and self._is_usual(given)
            if given is not None and not usual:
                return f"pmap is given {name}"
        if self._axis(node) is None:
            return "its axis name is only known at run time"
        axes = self._in_axes(node)
        if axes is None:
            return "its in_axes are not all 0 or None"
        donated = self._positions(node, "donate_argnums") or ()
        keywords = [cast("int", key[2]) for key in self.it.variables if key[:2] == ("keyword", node)]
        if any(index >= len(axes) or axes[index] != 0 or index in donated for index in keywords):
            return "what it is given by keyword is mapped or donated in another way than by position"
        out_axes = site.keyword("out_axes")
        if out_axes is not None and self._constant(out_axes) != 0:
            return "its out_axes are not 0"
        if self._positions(node, "static_broadcasted_argnums") is None:
            return "its static arguments are only known at run time"
        if self._positions(node, "donate_argnums") is None:
            return "what it donates is only known at run time"
        return ""

    def _is_usual(self, devices: Argument) -> bool:
        """Whether the devices given to pmap are those that it takes by itself."""
        return devices.expression is not None and self.it.idioms.is_devices(devices.expression, devices.module)

    def _constant(self, argument: object) -> object:
        expression = getattr(argument, "expression", None)
        if expression is None:
            return ...
        try:
            return ast.literal_eval(expression)
        except ValueError:
            value = self.it.resolver.value(expression, argument.module)  # type: ignore[attr-defined]
            return value.value if isinstance(value, Constant) else ...

    def _axis(self, node: ast.expr) -> str | None:
        axis = axis_of(self.it.sites[node], self.it.resolver)
        if axis is None:
            return self.axis
        return axis.value if isinstance(axis, Constant) and isinstance(axis.value, str) else None

    def _in_axes(self, node: ast.expr) -> tuple[int | None, ...] | None:
        """0 or None for each argument; what is static counts as None."""
        axes, static = self._given_axes(node), self._positions(node, "static_broadcasted_argnums")
        if axes is None or not static:
            return axes
        return tuple(None if i in static else axis for i, axis in enumerate(axes))

    def _given_axes(self, node: ast.expr) -> tuple[int | None, ...] | None:
        count = self.counts.get(node, 0)
        argument = self.it.sites[node].keyword("in_axes")
        if argument is None:
            return (0,) * count
        value = self._constant(argument)
        if isinstance(value, list | tuple):
            static = self._positions(node, "static_broadcasted_argnums") or ()
            zero = all(v is None or (v == 0 and not isinstance(v, bool)) or i in static for i, v in enumerate(value))
            return tuple(value) if len(value) == count and zero else None
        return (0,) * count if value == 0 and value is not None else None

    def _positions(self, node: ast.expr, keyword: str) -> tuple[int, ...] | None:
        argument = self.it.sites[node].keyword(keyword)
        if argument is None:
            return ()
        value = self._constant(argument)
        if isinstance(value, int):
            return (value,)
        return tuple(value) if isinstance(value, list | tuple) and all(isinstance(v, int) for v in value) else None

    # Cells

    def _layout(self, cell: Cell | None) -> Name | None:
        """The global layout of a group, None where it stays stacked."""
        if cell is None:
            return None
        root = cell.find()
        if root.pins or root in self.dropped:
            return None
        kinds = self.kinds.get(root, set())
        if "split" in kinds or "merge" in kinds:
            return "split" if kinds <= self.splittable else None
        if kinds >= {"numpy", "written"}:
            return None
        return "replicated" if kinds <= REPLICABLE else None

    def _reason(self, cell: Cell | None, module: Module) -> str:
        if cell is None:
            return "is not known to hold one slice for every device"
        root = cell.find()
        if root in self.dropped:
            return self.dropped[root]
        for pin in root.pins.values():
            return describe(pin, module)
        kinds = self.kinds.get(root, set())
        if "rows" in kinds:
            return "holds one random key per device"
        if "split" in kinds:
            return "is split over the devices in one place and used otherwise in another"
        return "is used as stacked in one place and as replicated in another"

    def _argument(self, node: ast.expr, index: int) -> Cell | None:
        return self.it.cells.get(("argument", node, index))

    def _outputs(self, node: ast.expr) -> list[Cell | None]:
        cells = self.it.cells
        parts = mapped.parts_of(self.it, node, self.counts.get(node, 0))
        if parts is not None:
            return [cells.get(("output", node, i)) for i in range(parts)]
        return [cells.get(("output", node, None))]

    def _returned(self, node: ast.expr, levels: Sequence[Level]) -> Var | None:
        return mapped.returned(self.it, node, levels)

    # What speaks against

    def _drop(self, cell: Cell | None, reason: str) -> bool:
        if cell is None or self._layout(cell) is None:
            return False
        self.dropped[cell.find()] = reason
        return True

    def _block(self) -> bool:
        """Sites whose calls are not proven to fill all devices, and the arrays of sites that stay as they are."""
        changed = False
        for node in self.it.sites:
            if not self.blocked[node] and not self._fills(node):
                self.blocked[node] = NOT_FULL
                changed = True
            if self.blocked[node]:
                reason = f"reaches a mapped function that stays as it is: {self.blocked[node]}"
                for index in range(max(self.counts.get(node, 0), 0)):
                    changed |= self._drop(self._argument(node, index), reason)
                for cell in self.of_site.get(node, ()):
                    changed |= self._drop(cell, reason)
            else:
                for index, axis in enumerate(self._in_axes(node) or ()):
                    if axis is None:
                        changed |= self._drop(self._argument(node, index), "is a stacked array under in_axes=None")
        return changed

    def _fills(self, node: ast.expr) -> bool:
        """Whether every call has a slice for each device: some argument was made with as many."""
        axes = self._in_axes(node) or ()
        known = [i for i, axis in enumerate(axes) if axis == 0 and ("plain", node, i) not in self.it.variables]
        cells = [self._argument(node, i) for i in known]
        return any(c is not None and self._is_full(c) for c in cells)

    def _is_full(self, cell: Cell) -> bool:
        kinds = self.kinds.get(cell.find(), set())
        makers = [key[1] for key in self.touching.get(cell.find(), ()) if key[0] == "output"]
        made = bool(kinds & {"replicate", "split", "rows"}) or bool(makers)
        return made and not any(self.blocked[cast("ast.expr", maker)] for maker in makers)

    def _levels(self, node: ast.expr) -> list[Level]:
        axes = self._in_axes(node) or ()
        return [
            Level.NO if axis is None or self._layout(self._argument(node, i)) == "replicated" else Level.YES
            for i, axis in enumerate(axes)
        ]

    def _drop_varying(self) -> bool:
        """Outputs that may differ between devices."""
        changed = False
        for node in self.it.sites:
            if self.blocked[node]:
                continue
            shape = self._returned(node, self._levels(node))
            cells = self._outputs(node)
            apart = mapped.parts_of(self.it, node, self.counts.get(node, 0)) is not None
            parts: tuple[Var | None, ...] = shape.parts if apart and shape is not None and shape.parts else (shape,)
            if len(parts) != len(cells):
                parts = (None,) * len(cells)
            for part, cell in zip(parts, cells, strict=True):
                if part is None:
                    changed |= self._drop(cell, "comes from a mapped function that cannot be read")
                elif part.level != Level.NO and self._layout(cell) == "replicated":
                    changed |= self._drop(cell, _varies(part))
        return changed

    def _drop_useless(self) -> bool:
        """Groups that no mapped function takes or gives."""
        changed = False
        for root, kinds in self.kinds.items():
            if not kinds & {"argument", "output"}:
                changed |= self._drop(root, "reaches no mapped function")
        return changed

    # Results

    def _is_donated(self, cell: Cell) -> bool:
        return any(
            (argument := self._argument(node, index)) is not None and argument.find() is cell.find()
            for node in self.it.sites
            for index in self._positions(node, "donate_argnums") or ()
        )

    def _axis_for(self, cell: Cell) -> str:
        for key in self.touching.get(cell.find(), ()):
            return self._axis(key[1]) or self.axis  # type: ignore[arg-type]
        return self.axis

    def _choice(self, node: ast.expr) -> SiteChoice:
        site = self.it.sites[node]
        count = max(self.counts.get(node, 0), 0)
        axes = self._in_axes(node) or (0,) * count
        arguments = tuple(self._argument_choice(node, i, axis, site.module) for i, axis in enumerate(axes))
        outputs = tuple(
            Choice(layout)
            if (layout := self._layout(c)) is not None
            else Choice("stacked", self._reason(c, site.module))
            for c in self._outputs(node)
        )
        whole = mapped.parts_of(self.it, node, count) is None
        squeezes = self._squeezes(node, arguments)
        return SiteChoice(site, arguments, outputs, whole, self._axis(node) or "", self.blocked[node], squeezes)

    def _squeezes(self, node: ast.expr, arguments: Sequence[Choice]) -> tuple[Squeeze, ...]:
        stacked = [i for i, c in enumerate(arguments) if c.layout == "stacked"]
        arrays = all(("tree", node, i) not in self.it.variables for i in stacked)
        function = bodies.only_function(self.it, node) if stacked and arrays else None
        names = bodies.positional(function) if function is not None else []
        if function is None or not all(i < len(names) for i in stacked):
            return ()
        return tuple(Squeeze(i, function, names[i]) for i in stacked)

    def _argument_choice(self, node: ast.expr, index: int, axis: int | None, module: Module) -> Choice:
        if axis is None:
            static = self._positions(node, "static_broadcasted_argnums") or ()
            return Choice("static" if index in static else "broadcast")
        cell = self._argument(node, index)
        layout = self._layout(cell)
        return Choice(layout) if layout is not None else self._stacked(cell, module)

    def _stacked(self, cell: Cell | None, module: Module) -> Choice:
        return Choice("stacked", self._reason(cell, module))


NOT_FULL = "it is not known to be called with a slice for every device"


def _varies(part: Var) -> str:
    if part.level == Level.YES:
        return "differs between devices when the mapped function returns it"
    return "cannot be shown to be the same on all devices when the mapped function returns it"


def describe(pin: Pin, module: Module) -> str:
    """A pin in words, with its line, and its file where that is another one."""
    line = getattr(pin.node, "lineno", 0)
    where = f"line {line}" if pin.module is module else f"{pin.module.path.name}:{line}"
    return f"{pin.reason} ({where})"
