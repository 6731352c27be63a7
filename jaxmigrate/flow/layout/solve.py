"""Which groups of arrays change their representation: the largest choice in which every piece is proven."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, cast

from jaxmigrate.flow.layout import bodies, classes, experiments, mapped, objects, operations, results
from jaxmigrate.flow.layout.buffers import is_result_written
from jaxmigrate.flow.layout.choices import Choice, Layouts, Name, NamedTuple, OpChoice, Outputs, SiteChoice, Squeeze
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.numbers import gives_number
from jaxmigrate.flow.layout.results import Place
from jaxmigrate.flow.layout.site_facts import SiteFacts
from jaxmigrate.flow.layout.state import Key, Op
from jaxmigrate.flow.layout.values import Cell, Pin, describe
from jaxmigrate.flow.variance import Level, Var
from jaxmigrate.flow.variance.lattice import OTHERS, Cause, Fields, field_of
from jaxmigrate.flow.variance.lattice import replace as replace_var
from jaxmigrate.program.modules import Module
from jaxmigrate.program.sites import mapped_values
from jaxmigrate.program.values import Class, Instance

ALIGNED = {"rows", "argument", "output"}
PARAMETERS = frozenset({"model", "optimizer", "parameters", "params", "target", "weights"})  # what a state is for
RESULTS = {"output", "first", "metrics"}
SLICED = ("handed over", "padded")  # by libraries, with one slice for each device
REPLICABLE = {"replicate", "output", "argument", "first", "inner", "metrics", "numpy", "written", "stack", "checkpoint"}


class Solver:
    """Starts from all groups global and drops those that something speaks against, until nothing does."""

    def __init__(self, it: Interpreter, axis: str, processes: bool) -> None:
        self.it = it
        self.axis = axis
        self.processes = processes
        self.facts = SiteFacts(it, axis)
        self.splittable = {"split", "argument", "prefetch"} | (set() if processes else {"merge", "output"})
        self.dropped: dict[Cell, str | Pin] = {}
        self.copied: dict[tuple[ast.expr, int], set[str]] = {}  # the methods that copy an argument, as far as asked
        self.blocked = {site: self.facts.blocked(site) for site in it.sites}
        self.by_rows: set[ast.expr] = set()  # sites that may be called with slices for fewer devices than there are
        self.kinds = self._kinds()
        self.makers = self._makers()
        self.lookers = self._lookers()
        made_by = self._made_by()
        self.classes = {root: cls for root, cls in made_by.items() if classes.is_named_tuple(it, cls)}
        self.states = {root: cls for root, cls in made_by.items() if root not in self.classes}
        self.places: dict[ast.expr, tuple[Place, ...]] = {}  # the outputs of a site that are told apart
        self.named: dict[ast.expr, dict[Place, Class]] = {}  # the named tuples among what it gives
        for node in it.sites:
            self.places[node], self.named[node] = results.places(it, node, self.facts.counts.get(node, 0))
        self.touching: dict[Cell, list[Key]] = {}
        self.of_site: dict[object, list[Cell]] = {}
        self.owners: dict[Cell, dict[Cell, None]] = {}
        roots = (cell.find() for cell in (*it.cells.values(), *(op.cell for op in it.ops.values())))
        for root in dict.fromkeys(roots):  # in the order of the program, so that reasons are the same in each run
            for cell in root.fields.values():
                self.owners.setdefault(cell.find(), {})[root] = None
        self.alike = experiments.alike(it)
        self.on_host = {cell.find() for cell in it.on_host}  # what the program asks for there
        for key, cell in it.cells.items():
            if key[0] in ("argument", "output"):
                self.touching.setdefault(cell.find(), []).append(key)
                self.of_site.setdefault(key[1], []).append(cell)

        tests = (
            self._block,
            self._drop_numbers,
            self._drop_varying,
            self._drop_useless,
            self._drop_mixed,
            self._drop_moved,
        )
        while any(test() for test in tests):
            pass

    def is_global(self, cell: Cell) -> bool:
        """Whether the arrays of a group lose their leading axis."""
        return self._layout(cell) is not None

    def solution(self) -> Layouts:
        """The layouts of all sites, and of what makes and takes apart their arrays."""
        result = Layouts()
        for node in self.it.sites:
            result.sites[node] = self._choice(node)
        for call in self.it.calls.values():
            by_keyword = call.node.keywords and call.node not in self.it.padded_calls
            if by_keyword and not result.sites[call.site].keywords and result.sites[call.site].is_global:
                result.calls.append(call)
        for op in self.it.ops.values():
            layout = self._layout(op.cell)
            if op.kind == "rows":
                layout = "stacked" if self._is_aligned(op.cell, result) else None
            if layout is not None:
                fields = tuple(name for name, _ in self._stacked_fields(op.cell, op.module))
                method = self._method(op.cell.find()) if fields else ""
                axis, donated = self._axis_for(op.cell), self._is_donated(op.cell)
                cls = self.classes.get(op.cell.find())
                names = self.it.resolver.declared_fields(cls) if cls is not None and fields else ()
                rest = tuple(name for name in names if name not in fields)
                result.ops.append(OpChoice(op, layout, axis, donated, fields, method, rest))
        result = self._aligned(result)
        result.together = self._together(result)
        return result

    def _together(self, result: Layouts) -> list[frozenset[Module]]:
        """The modules whose texts change for the same arrays, for each group of arrays and each mapped function."""
        found: dict[object, set[Module]] = {}
        for node, choice in result.sites.items():
            if not choice.is_global:
                continue
            module = choice.site.module
            found[node] = {module, *(s.function.module for s in choice.squeezes)}
            found[node] |= {call.module for call in result.calls if call.site is node}
            for cell in (*(self._argument(node, i) for i in range(len(choice.arguments))), *self._outputs(node)):
                if cell is not None and (self.is_global(cell) or self._is_aligned(cell, result)):
                    for one in self._family(cell.find()):
                        found.setdefault(one, set()).add(module)
        for op in (choice.op for choice in result.ops):
            for one in self._family(op.cell.find()):
                found.setdefault(one, set()).add(op.module)
        return list(dict.fromkeys(frozenset(modules) for modules in found.values() if len(modules) > 1))

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
        """Whether only mapped functions with specs take and give a group's arrays, and not in an object with others."""
        root = cell.find()
        if self.owners.get(root):
            return False
        keys = self._keys(root)
        sites = [result.sites[cast("ast.expr", key[1])] for key in keys]
        given = [key for key in keys if key[0] == "argument"]
        pinned = any(one.pins for one in self._family(root))
        pinned |= not self.on_host.isdisjoint(self._family(root))
        pure = not pinned and not any(("plain", *key[1:3]) in self.it.variables for key in given)
        by_all = all(s.is_global and not s.by_rows for s in sites)
        return pure and self._kinds_of(root) <= ALIGNED and bool(sites) and by_all

    # Facts

    def _kinds(self) -> dict[Cell, set[str]]:
        """By group, what makes and takes apart its arrays."""
        found: dict[Cell, set[str]] = {}
        for op in self.it.ops.values():
            found.setdefault(op.cell.find(), set()).add(op.kind)
            if op.is_numpys:
                found[op.cell.find()].add("numpy")
            if op.kind == "first" and is_result_written(op.node, op.module, self.it.resolver):
                found[op.cell.find()].add("written")
        for key, cell in self.it.cells.items():
            if key[0] in ("output", "argument", "rows", *SLICED):
                found.setdefault(cell.find(), set()).add(str(key[0]))
        return found

    def _makers(self) -> dict[Cell, list[Op]]:
        """By group, the operations that make its arrays and leave them where that lies which they are made of."""
        found: dict[Cell, list[Op]] = {}
        for op in self.it.ops.values():
            if operations.keeps_place(self.it, op):
                found.setdefault(op.cell.find(), []).append(op)
        return found

    def _lookers(self) -> list[Op]:
        """The operations that may look at how arrays lie that lie where that does which they are made of."""
        ops = (op for op in self.it.ops.values() if op.cell.find() in self.makers)
        return [op for op in ops if operations.may_look_at_place(self.it, op)]

    def _made_by(self) -> dict[Cell, Class]:
        """By group, the class that all its objects are of, if mapped functions give back the same."""
        found: dict[Cell, set[Class | None]] = {}
        for key, cell in self.it.cells.items():
            if key[0] not in ("argument", "output", "lent"):
                found.setdefault(cell.find(), set()).add(self.it.records.get(key[1]))
        single = {root: next(iter(kinds)) for root, kinds in found.items() if len(kinds) == 1}
        return {root: cls for root, cls in single.items() if cls is not None}

    # Cells

    def _layout(self, cell: Cell | None) -> Name | None:
        """The global layout of a group, None where it stays stacked."""
        if cell is None:
            return None
        layouts = [self._own(one) for one in self._family(cell.find())]
        return None if None in layouts else layouts[0]

    def _own(self, root: Cell) -> Name | None:
        """The global layout of a group for all that is said about it alone."""
        if root.pins or root in self.dropped:
            return None
        kinds = self._kinds_of(root)
        if "split" in kinds or "merge" in kinds:
            return "split" if kinds <= self.splittable else None
        if kinds >= {"numpy", "written"}:
            return None
        return "replicated" if kinds <= REPLICABLE else None

    def _reason(self, cell: Cell | None, module: Module) -> str:
        if cell is None:
            return NOT_ONE
        root = cell.find()
        for one in self._family(root):
            if one in self.dropped:
                why = self.dropped[one]
                return describe(why, module) if isinstance(why, Pin) else why
            for pin in one.pins.values():
                return describe(pin, module)
        kinds = self._kinds_of(root)
        if "rows" in kinds:
            return "holds one random key per device"
        if "split" in kinds and any(self._own(one) == "replicated" for one in self.owners.get(root, ())):
            return SPLIT_FIELD
        if "split" in kinds:
            return "is split over the devices in one place and used otherwise in another"
        return "is used as stacked in one place and as replicated in another"

    def _argument(self, node: ast.expr, index: int) -> Cell | None:
        return self.it.cells.get(("argument", node, index))

    def _outputs(self, node: ast.expr) -> list[Cell | None]:
        return [self.it.cells.get(("output", node, i)) for i in self.places[node]]

    def _returned(self, node: ast.expr) -> Var | None:
        return mapped.returned(self.it, node, self._given(node))

    # What speaks against

    def _drop(self, cell: Cell | None, reason: str | Pin) -> bool:
        if cell is None or self._layout(cell) is None:
            return False
        self.dropped[cell.find()] = reason
        return True

    def _block(self) -> bool:
        """Sites whose calls are not proven to fill all devices, and the arrays of sites that stay as they are."""
        changed = False
        for node in self.it.sites:
            if not self.blocked[node] and not self._fills(node):
                if self._gives_results(node):
                    changed |= node not in self.by_rows
                    self.by_rows.add(node)
                else:
                    self.blocked[node] = NOT_FULL
                    changed = True
            if self.blocked[node]:
                reason = f"reaches a mapped function that stays as it is: {self.blocked[node]}"
                for cell in self.of_site.get(node, ()):
                    changed |= self._drop(cell, reason)
            else:
                for index, axis in enumerate(self.facts.in_axes(node) or ()):
                    if axis is None:
                        changed |= self._drop(self._argument(node, index), "is a stacked array under in_axes=None")
                    elif node in self.by_rows:
                        changed |= self._drop(self._argument(node, index), NOT_ONE)
                if node in self.by_rows:
                    for output in self._outputs(node):
                        if output is not None and not self._is_result(output.find()):
                            changed |= self._drop(output, NOT_FULL)
        return changed

    def _gives_results(self, node: ast.expr) -> bool:
        """Whether a site gives something of which only one device's is taken, whatever number of devices it runs on."""
        axes, static = self.facts.in_axes(node) or (), self.facts.positions(node, "static_broadcasted_argnums")
        if not axes or any(axis is None for axis in axes) or static or self.it.by_keyword.get(node):
            return False
        if self.named[node]:
            return False
        if any(mapped.axis_of_output(self.it, node, place) is None for place in self.places[node]):
            return False
        outputs = [cell.find() for cell in self._outputs(node) if cell is not None and self._layout(cell) is not None]
        return any(map(self._is_result, outputs))

    def _is_result(self, root: Cell) -> bool:
        """Whether only one device's slice is taken of what a site gives, which no mapped function is given."""
        return self._kinds_of(root) <= RESULTS and not root.fields

    def _fills(self, node: ast.expr) -> bool:
        """Whether every call has a slice for each device: some argument was made with as many."""
        axes = self.facts.in_axes(node) or ()
        known = [i for i, axis in enumerate(axes) if axis == 0 and ("plain", node, i) not in self.it.variables]
        cells = [self._argument(node, i) for i in known]
        return any(c is not None and self._is_full(c) for c in cells)

    def _is_full(self, cell: Cell) -> bool:
        kinds = self._kinds_of(cell.find())
        makers = [key[1] for key in self._keys(cell.find()) if key[0] == "output"]
        made = bool(kinds & {"replicate", "split", "rows", "checkpoint", *SLICED}) or bool(makers)
        return made and not any(self.blocked[cast("ast.expr", maker)] for maker in makers)

    def _given(self, node: ast.expr) -> list[Var]:
        """The arguments of a mapped function: whether devices hold different ones."""
        return [self._given_one(node, i, axis) for i, axis in enumerate(self.facts.in_axes(node) or ())]

    def _given_one(self, node: ast.expr, index: int, axis: int | None) -> Var:
        kind: Literal["array", "unknown"] = "unknown" if ("tree", node, index) in self.it.variables else "array"
        cell = self._argument(node, index)
        if axis is not None and self._layout(cell) != "replicated":
            alike = ("plain", node, index) not in self.it.variables and cell in self.alike
            return Var(Level.NO if alike else Level.YES, kind=kind)
        fields = self._stacked_fields(cell, self.it.sites[node].module) if axis is not None else ()
        cls = self.classes.get(cell.find()) if cell is not None and axis is not None else None
        if cls is not None:
            stacked = {name for name, _ in fields}
            levels = {n: Level.YES if n in stacked else Level.NO for n in self.it.resolver.declared_fields(cls)}
            each = Fields({name: Var(level) for name, level in levels.items()})
            return Var(Level.MAY if stacked else Level.NO, fields=each, static=Instance(cls))
        state = self.states.get(cell.find()) if cell is not None and axis is not None else None
        if not fields and state is None:
            return Var(Level.NO, kind=kind)
        each = Fields({name: Var(Level.YES) for name, _ in fields} | {OTHERS: Var()})
        return Var(
            Level.MAY if fields else Level.NO, fields=each, static=Instance(state) if state is not None else None
        )

    def _drop_numbers(self) -> bool:
        """Outputs that would be split along an axis that they do not have."""
        changed = False
        for node in self.it.sites:
            for place, cell in zip(self.places[node], self._outputs(node), strict=True):
                if self._layout(cell) == "split" and self._is_number(node, place):
                    changed |= self._drop(cell, "is one number on each device")
        return changed

    def _is_number(self, node: ast.expr, place: Place) -> bool:
        values = mapped_values(self.it.sites[node], self.it.resolver)
        return any(gives_number(value, place, self.it.resolver) for value in values)

    def _drop_varying(self) -> bool:
        """Outputs that may differ between devices."""
        changed = False
        for node in self.it.sites:
            if self.blocked[node]:
                continue
            shape = self._returned(node)
            cells, named = self._outputs(node), self.named[node]
            parts = results.parts_at(shape, self.places[node], named)
            if named and None in parts:
                self.blocked[node] = "it cannot be shown what it returns"
                changed = True
                continue
            self.blocked[node] = self._speaks_against_unmapped(self._unmapped(node, parts))
            if self.blocked[node]:
                changed = True
                continue
            if self._forget_classes(cells, parts):
                changed = True
                continue  # with what is known without them
            for index, (part, cell) in enumerate(zip(parts, cells, strict=True)):
                if part is None:
                    changed |= self._drop(cell, "comes from a mapped function that cannot be read")
                elif part.level != Level.NO and self._layout(cell) == "replicated":
                    changed |= self._drop_parts(cell, part, node, index)
        return changed

    def _forget_classes(self, cells: Sequence[Cell | None], parts: Sequence[Var | None]) -> bool:
        """Forgets the classes of groups of which an output may be of another; says whether there are such."""
        pairs = zip(cells, parts, strict=True)
        wrong = [one.find() for one, part in pairs if one is not None and not self._is_of_its_class(one.find(), part)]
        for root in wrong:
            self.classes.pop(root, None)
            self.states.pop(root, None)
        return bool(wrong)

    def _is_of_its_class(self, root: Cell, part: Var | None) -> bool:
        """Whether an output is of the class that the objects of its group are taken to be of."""
        cls = self.classes.get(root) or self.states.get(root)
        return cls is None or results.made_by(part) == cls

    def _speaks_against_unmapped(self, parts: Sequence[Var | None]) -> str:
        """Why outputs without a device axis keep their site as it is; the program may do with them what it likes."""
        if parts and self.processes and any(self._is_mixed(root) for root in self.kinds):
            return "an output under out_axes=None is an array of one process"
        if any(part is None or part.level != Level.NO for part in parts):
            return "an output under out_axes=None cannot be shown to be the same on all devices"
        return ""

    def _is_mixed(self, root: Cell) -> bool:
        """Whether some fields of the objects of a group stay stacked while the others are replicated."""
        return self._layout(root) == "replicated" and any(self._layout(one) is None for one in root.fields.values())

    def _unmapped(self, node: ast.expr, parts: Sequence[Var | None]) -> list[Var | None]:
        """The outputs of a site that have no device axis: one value for all devices."""
        pairs = zip(parts, self.places[node], strict=True)
        return [part for part, place in pairs if mapped.axis_of_output(self.it, node, place) is None]

    def _drop_parts(self, cell: Cell | None, part: Var, node: ast.expr, index: int) -> bool:
        """The fields of an output that may differ between devices, all of it where they cannot be told apart."""
        assert cell is not None
        fields, root = part.fields or {}, cell.find()
        rest = fields.get(OTHERS)
        if not fields or (rest is not None and rest.level != Level.NO) or not self._is_mixable(root):
            return self._drop(cell, self._varies(part, node, index))
        named = [(self._field(root, name), name, one) for name, one in fields.items() if name != OTHERS]
        varying = [(field, name, one) for field, name, one in named if one.level != Level.NO]
        news = [self._drop(field, self._varies(one, node, index, name)) for field, name, one in varying]
        return any(news)

    def _varies(self, part: Var, node: ast.expr, index: int, name: str = "") -> str | Pin:
        """Why an output, or a field of it, stays stacked: of which mapped function matters, where several share it."""
        behind = self._behind(node, index, name)
        if behind:
            return behind
        module = self.it.sites[node].module
        if part.level == Level.YES:
            return Pin("differs between devices when the mapped function returns it", module, node)
        said = "cannot be shown to be the same on all devices when the mapped function returns it"
        return Pin(said, module, node, _depends(part.cause, module))

    def _behind(self, node: ast.expr, index: int, name: str) -> str | Pin:
        """Why an argument stays stacked without which an output would not: it would be replicated for all else."""
        given = self._given(node)
        reasons = [self._spoils(self._argument(node, i)) for i in range(len(given))]
        if not any(reasons):
            return ""
        kinds = [replace_var(one, level=Level.NO, fields=None) for one in given]
        hoped = [kind if why else one for one, kind, why in zip(given, kinds, reasons, strict=True)]
        parts = results.parts_at(mapped.returned(self.it, node, hoped), self.places[node], self.named[node])
        part = parts[index]
        if part is None or (field_of(part, name) if name else part).level != Level.NO:
            return ""
        return next(why for why in reasons if why)

    def _spoils(self, cell: Cell | None) -> str | Pin:
        """Why arrays that nothing but that keeps from being replicated stay stacked, all or some fields of them."""
        root = cell.find() if cell is not None else None
        if root is None or not self._kinds_of(root) <= REPLICABLE:
            return ""
        for one in (*self._family(root), *(field.find() for field in root.fields.values())):
            why = self.dropped.get(one) or next(iter(one.pins.values()), "")
            if why:
                return why if self._kinds_of(one) <= REPLICABLE else ""
        return ""

    def _drop_mixed(self) -> bool:
        """Objects whose fields have several layouts that cannot be written as one; fields of stacked objects."""
        changed = False
        for root in [c for c in self.kinds if c.fields]:
            layout, module = self._layout(root), self._module_of(root)
            fields = [*root.fields.values()]
            if layout is not None and all(self._layout(cell) is None for cell in fields):
                changed |= self._drop(root, self._reason(fields[0], module))
            for cell in fields:
                own = self._layout(cell)
                if own is None and layout is not None and not self._is_mixable(root):
                    changed |= self._drop(root, self._reason(cell, module))
                elif own is not None and own != layout:
                    beside = layout is not None and "split" in self._kinds_of(cell.find())
                    changed |= self._drop(cell, SPLIT_FIELD if beside else self._reason(root, module))
        return changed

    def _drop_moved(self) -> bool:
        """Slices of which arrays are stacked again, from which flax takes one slice by how they lie on the devices.

        A slice of a global array lies on all devices, and so does what is computed from it.
        """
        changed = False
        for op in self.lookers:
            for maker in self.makers.get(op.cell.find(), ()):
                inner = operations.slices_in(self.it, maker.operand, maker.module)
                if self._layout(op.cell) is None:
                    for one in inner:
                        changed |= self._drop(one.cell, "is taken apart where flax asks later how it lies on devices")
                elif not all(operations.is_on_one_device(self.it, one) for one in inner):
                    changed |= self._drop(op.cell, "is stacked of slices that lie on all devices, and flax asks how")
        return changed

    # Objects with fields

    def _family(self, root: Cell) -> list[Cell]:
        """A group and the objects whose field it is."""
        return [root, *self.owners.get(root, ())]

    def _keys(self, root: Cell) -> list[Key]:
        """The arguments and outputs that a group's arrays are, or are in."""
        return [key for one in self._family(root) for key in self.touching.get(one, ())]

    def _kinds_of(self, root: Cell) -> set[str]:
        return set().union(*(self.kinds.get(one, set()) for one in self._family(root)))

    def _field(self, root: Cell, name: str) -> Cell:
        """The cell of a field, of which the program may not have asked yet."""
        field = root.field(name)
        self.owners.setdefault(field.find(), {})[root] = None
        return field

    def _is_mixable(self, root: Cell) -> bool:
        """Whether some fields of an object may stay stacked: what gives it takes one, and it can be copied."""
        if _parts_of(root):
            return self._own(root) == "replicated"
        if root.flat or self._own(root) != "replicated" or "numpy" in self._kinds_of(root) or not self._method(root):
            return False
        keys = self.touching.get(root, [])
        taken = {key[1:] for key in keys if key[0] == "argument"}
        mapped_by = {site for site, _ in taken}
        pinned = [name for name, cell in root.fields.items() if cell.find().pins]
        if any(name in PARAMETERS and self._layout(cell) is None for name, cell in root.fields.items()):
            return False  # there is nothing to be won by the rest
        sites = [cast("ast.expr", key[1]) for key in self._keys(root)]
        if any(self.named[site] and self._of(root, site) is None for site in sites):
            return False  # the specs of all that such a site takes and gives are trees
        given = all(key[1] in mapped_by for key in keys if key[0] == "output")
        return given and bool(taken) and not any(objects.may_be_static(self.it, name) for name in pinned)

    def _method(self, root: Cell) -> str:
        """The method that copies an object with other fields; empty where that is not known."""
        found = {*root.methods}
        if root in self.classes:
            return "_replace"
        for key in self.touching.get(root, ()):
            if key[0] == "argument":
                site = cast("ast.expr", key[1])
                found |= self._copied_by(site, cast("int", key[2]))
        return found.pop() if len(found) == 1 else ""

    def _copied_by(self, site: ast.expr, index: int) -> set[str]:
        if (site, index) not in self.copied:
            self.copied[site, index] = objects.copied_by(self.it, site, index, self.facts.counts.get(site, 0))
        return self.copied[site, index]

    def _module_of(self, root: Cell) -> Module:
        keys = self.touching.get(root, ())
        ops = (op.module for op in self.it.ops.values() if op.cell.find() is root)
        return next((self.it.sites[key[1]].module for key in keys), None) or next(ops)  # type: ignore[index]

    def _stacked_fields(self, cell: Cell | None, module: Module) -> tuple[tuple[str, str], ...]:
        """The fields of an object that stay stacked while the others are replicated."""
        if cell is None or self._layout(cell) != "replicated":
            return ()
        fields = sorted(cell.find().fields.items())
        return tuple((name, self._reason(one, module)) for name, one in fields if self._layout(one) is None)

    def _drop_useless(self) -> bool:
        """Groups that no mapped function takes or gives."""
        changed = False
        for root in self.kinds:
            kinds = self._kinds_of(root).union(*(self._kinds_of(part) for part in _parts_of(root)))
            if not kinds & {"argument", "output"}:
                changed |= self._drop(root, "reaches no mapped function")
        return changed

    # Results

    def _is_donated(self, cell: Cell) -> bool:
        given = [key for key in self._keys(cell.find()) if key[0] == "argument"]
        return any(key[2] in (self.facts.positions(cast("ast.expr", key[1]), "donate_argnums") or ()) for key in given)

    def _axis_for(self, cell: Cell) -> str:
        for key in self._keys(cell.find()):
            return self.facts.axis(key[1]) or self.axis  # type: ignore[arg-type]
        return self.axis

    def _choice(self, node: ast.expr) -> SiteChoice:
        site = self.it.sites[node]
        count = max(self.facts.counts.get(node, 0), 0)
        axes = self.facts.in_axes(node) or (0,) * count
        arguments = tuple(self._argument_choice(node, i, axis, site.module) for i, axis in enumerate(axes))
        places = self.places[node]
        outputs = tuple(self._output_choice(node, place, site.module) for place in places)
        by_rows = node in self.by_rows
        squeezes = self._squeezes(node, arguments) if not by_rows else ()
        keywords, axis = self.it.by_keyword.get(node, ()), self.facts.axis(node) or ""
        whole, blocked = places == ((),), self.blocked[node]
        gives = {place: made for place, cls in self.named[node].items() if (made := self._named_tuple(cls, node))}
        tree = Outputs(places, gives)
        return SiteChoice(site, arguments, outputs, whole, axis, blocked, squeezes, keywords, by_rows, tree)

    def _named_tuple(self, cls: Class | None, node: ast.expr) -> NamedTuple | None:
        name = classes.name_at(self.it, cls, node, self.it.sites[node].module) if cls is not None else ""
        return NamedTuple(name, tuple(self.it.resolver.declared_fields(cls))) if cls is not None and name else None

    def _of(self, cell: Cell | None, node: ast.expr) -> NamedTuple | None:
        """What the class of a group's objects is called where a site stands."""
        return self._named_tuple(self.classes.get(cell.find()), node) if cell is not None else None

    def _squeezes(self, node: ast.expr, arguments: Sequence[Choice]) -> tuple[Squeeze, ...]:
        stacked = [i for i, c in enumerate(arguments) if c.layout == "stacked"]
        arrays = all(("tree", node, i) not in self.it.variables for i in stacked)
        function = bodies.only_function(self.it, node) if stacked and arrays else None
        names = bodies.parameters(self.it, node, function, len(arguments)) if function is not None else {}
        if function is None or not all(i in names for i in stacked):
            return ()
        return tuple(Squeeze(i, function, names[i]) for i in stacked)

    def _argument_choice(self, node: ast.expr, index: int, axis: int | None, module: Module) -> Choice:
        if axis is None:
            static = self.facts.positions(node, "static_broadcasted_argnums") or ()
            return Choice("static" if index in static else "broadcast")
        cell = self._argument(node, index)
        layout = self._layout(cell)
        if layout is None:
            return self._stacked(cell, module)
        fields = self._stacked_fields(cell, module)
        if cell is None or not fields:
            return Choice(layout)
        return Choice(layout, fields=fields, method=self._method(cell.find()), of=self._of(cell, node))

    def _output_choice(self, node: ast.expr, place: Place, module: Module) -> Choice:
        if mapped.axis_of_output(self.it, node, place) is None:
            return Choice("broadcast")
        cell = self.it.cells.get(("output", node, place))
        layout = self._layout(cell)
        if layout is None:
            return self._stacked(cell, module)
        fields = self._stacked_fields(cell, module)
        alike = (i for i in range(self.facts.counts[node]) if fields and self._is_one(self._argument(node, i), cell))
        return Choice(layout, fields=fields, like=next(alike, 0), of=self._of(cell, node) if fields else None)

    @staticmethod
    def _is_one(one: Cell | None, other: Cell | None) -> bool:
        return one is not None and other is not None and one.find() is other.find()

    def _stacked(self, cell: Cell | None, module: Module) -> Choice:
        return Choice("stacked", self._reason(cell, module))


def _parts_of(root: Cell) -> list[Cell]:
    """The parts of a tuple that is made by one operation."""
    return [cell.find() for name, cell in root.fields.items() if name.isdigit()]


SPLIT_FIELD = "is split over the devices, in an object of which the rest is replicated"
NOT_ONE = "is not known to hold one slice for every device"
LONGEST_NAME = 40  # of what stands in a reason
NOT_FULL = "it is not known to be called with a slice for every device"


def _depends(cause: Cause, module: Module) -> str:
    """What an output may depend on that cannot be told, where that has a name."""
    called = ast.unparse(cause.node.func) if isinstance(cause.node, ast.Call) else cause.name
    name = cause.name if len(called) > LONGEST_NAME else called
    if not name:
        return ""
    what = f"{name}, which may differ between processes" if cause.host else f"what {name} gives"
    if cause.node is None:
        return f": it may depend on {what}"
    return f": it may depend on {describe(Pin(what, cause.module or module, cause.node), module)}"
