"""The pieces of code that a mapped site becomes: its mesh, its specs, the keywords of jit, what brings rows to it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from jaxmigrate.migrate.helper import all_devices
from jaxmigrate.migrate.maps import Array, MapPlan
from jaxmigrate.migrate.names import FileNames
from jaxmigrate.migrate.sharing import Shared
from jaxmigrate.migrate.specs import Specs, display
from jaxmigrate.program.operations import Code, Marked, Part, code


@dataclass(frozen=True, slots=True)
class MapParts:
    """The pieces of the maps of one file, which place nothing.

    `processes`: the program may run as several, each with rows of its own; `unlike`: what has no device axis may
    differ between them as well. `lowered`: `.lower` of some maps may be called.
    """

    names: FileNames
    shared: Shared
    quote: str
    processes: bool
    unlike: bool
    lowered: bool

    def axis(self, plan: MapPlan) -> str | Part:
        """The name of the mapped axis, as the site says it or as a literal."""
        if plan.axis_source:
            return plan.axis_source
        if plan.axis_default:
            return code(f"$axis or {self.quote}{plan.axis_default}{self.quote}", axis=plan.axis)
        return plan.axis if isinstance(plan.axis, ast.expr) else f"{self.quote}{plan.axis}{self.quote}"

    def said(self, plan: MapPlan) -> str:
        """A literal for the mapped axis."""
        return f"{self.quote}{plan.axis_name}{self.quote}"

    def specs(self, plan: MapPlan) -> Specs:
        """The specs of the arguments and results."""
        return Specs(plan, self.names.of("jax.sharding.PartitionSpec"), self.argument_names(plan))

    def argument_names(self, plan: MapPlan) -> tuple[str, ...]:
        """What the arguments are called in a function around the map."""
        if plan.names is not None and len(plan.names) >= len(plan.inputs):
            return plan.names[: len(plan.inputs)]
        return tuple(f"arg{i}" for i in range(len(plan.inputs)))

    def mesh(self, plan: MapPlan, first: str) -> str | Code:
        """The mesh of a map; `first` is the source of what has a row for each device."""
        axis = self.axis(plan)
        if plan.mesh:
            return plan.mesh
        if plan.listed:
            return plan.listed
        if plan.has_own_mesh:
            every = all_devices(self.names.of("jax"), "$backend", processes=self.processes)
            given = plan.devices or code(every, backend=plan.backend or "")
            return code("$mesh($devices, ($axis,))", mesh=self.names.of("jax.sharding.Mesh"), devices=given, axis=axis)
        if plan.by_rows:
            return code(self.shared.call("mesh_of", first, axis=plan), axis=axis)
        return code(self.shared.mesh(plan), axis=axis)

    def shard_map(self, plan: MapPlan, fun: str | Part, first: str, specs: str = "") -> Code:
        """The call of shard_map; `specs` are its keywords where they have names already."""
        said = self.specs(plan)
        specs = specs or f"in_specs={said.inputs()}, out_specs={said.outputs()}"
        return code(
            f"$jax.shard_map($fun, mesh=$mesh, {specs}, check_vma=False)",
            jax=self.names.of("jax"),
            fun=_by_name(plan, fun),
            mesh=self.mesh(plan, first),
            axis=self.axis(plan),
        )

    def bound(self, plan: MapPlan, fun: str | ast.expr, *, by_keyword: bool) -> tuple[str | ast.expr | Code, MapPlan]:
        """What is mapped with its static arguments bound, and the map of the others; as it is where they mix.

        First ones are bound by position, last ones by keyword where that may be. A single one stays among specs that
        are not the same.
        """
        names, static = plan.names, [array.static for array in plan.inputs]
        if names is None or plan.whole_in or plan.by_name or all(static) or not any(static):
            return fun, plan
        first, last = static.index(False), len(static) - static[::-1].index(False)
        if any(static[first:last]) or (last < len(static) and not by_keyword) or len(names) != len(static):
            return fun, plan
        rest, partial = plan.part(first, last), self.names.of("functools.partial")
        if partial.partition(".")[0] in names or (sum(static) == 1 and self.specs(rest).inputs().startswith("(")):
            return fun, plan
        given = ["$fun", *names[:first], *(f"{name}={name}" for name in names[last:])]
        return code(f"{partial}({', '.join(given)})", fun=fun), rest

    def options(self, plan: MapPlan, layout: str | Part = "") -> tuple[str, dict[str, str | Part]]:
        """The keywords of jax.jit; `layout` is that of what the map itself brings to all devices.

        Arrays of one device are brought there as pmap does it; what has rows is left to the map.
        """
        found, parts = "", dict[str, str | Part]()
        if plan.moves:
            found += f", in_shardings={self._shardings(plan)}"
            parts |= {"own_mesh": self.mesh(plan, ""), "axis": self.axis(plan)}
        elif layout:
            each = ["None" if array.split else "$layout" for array in plan.inputs if not array.static]
            found += f", in_shardings={display(each)}"
            parts["layout"] = layout
        if plan.static:
            static = str(plan.static[0]) if len(plan.static) == 1 else f"({', '.join(map(str, plan.static))})"
            found += f", static_argnums={static}"
        nothing = isinstance(plan.donated, ast.Tuple | ast.List) and not plan.donated.elts
        if plan.donated is not None and not nothing:
            found += ", donate_argnums=$donated"
            parts["donated"] = _of_numbers(plan.donated)
        return found, parts

    def _shardings(self, plan: MapPlan) -> str:
        """How all arguments lie on the mesh, once for those that are alike."""
        named, specs = self.names.of("jax.sharding.NamedSharding"), self.specs(plan)
        each = [f"{named}($own_mesh, {specs.of(array)})" for array in plan.inputs if not array.static]
        return each[0] if len({*each}) == 1 else display(each)

    def everywhere(self, plan: MapPlan) -> Code:
        """The layout of what is the same on all devices."""
        named, spec = self.names.of("jax.sharding.NamedSharding"), self.names.of("jax.sharding.PartitionSpec")
        return code(f"{named}($mesh, {spec}())", mesh=self.mesh(plan, ""))

    def jit_decorators(
        self, plan: MapPlan, mark: str | None, specs: str = "", *, is_local: bool = True
    ) -> tuple[Code, ...]:
        """The decorators that compile a function: jit, below what brings this process's rows; marked for verify."""
        options, parts = self.options(plan)
        jit = self.names.of("jax.jit")
        if options:
            made = code(f"{self.names.of('functools.partial')}({jit}{options})", **parts)
        else:
            made = code(jit)
        local = self.local(plan, "", specs) if is_local else ""
        outer = [code(local, axis=self.axis(plan))] if local else []
        outer += [code(self._on_mesh(plan), axis=self.axis(plan))] if plan.on_mesh and is_local else []
        every = [*outer, made]
        if mark is not None:
            every[0] = code("$marked", marked=Marked(mark, every[0]))
        return tuple(every)

    def local(self, plan: MapPlan, fun: str = "", named: str = "") -> str | None:
        """The source of what gives a map this process's rows, in programs of several; `named` are its specs.

        Empty where it needs none; None where only the map that chooses its mesh at each call does it. What brings
        arguments to the mesh stands between the two.
        """
        within = self._on_mesh(plan, fun) if fun and plan.on_mesh else fun
        local = self._host_local(plan, within, named)
        return within if local == "" and within != fun else local

    def has_local(self, plan: MapPlan) -> bool:
        """Whether something gives a map this process's rows, or it needs nothing."""
        return self._host_local(plan, "", "", asked=True) is not None

    def brought(self, plan: MapPlan) -> MapPlan | None:
        """A map of which a function around it brings all arguments to the mesh; None where they are not all known."""
        kept = plan.has_own_mesh or plan.static or plan.has_parts or self.shared.own or plan.own_devices
        own = any(a.own or (plan.choice is None and not a.split) for a in plan.inputs)
        if self.processes and own:
            return None  # a number of each process is no global array
        donated = plan.donated is not None and not all(a.split for a in plan.inputs)
        by_name = self._put_specs(plan) and (plan.by_rows or plan.given_by_keyword or plan.any_keywords)
        if kept or donated or by_name or not plan.axis_name or any(a.fields for a in plan.everything):
            return None
        return replace(plan, moves=False, lays_out=False, own_devices=False, on_mesh=True)

    def _put_specs(self, plan: MapPlan) -> str:
        """What on_mesh is told of arguments that are not all split along their first axis."""
        plain = all(array.split and array.axis == 0 for array in plan.inputs)
        return "" if plain else f", in_specs={self.specs(plan).inputs()}"

    def _on_mesh(self, plan: MapPlan, fun: str = "") -> str:
        """The source of what brings arguments to the mesh before a map is compiled for it."""
        name, more = self.shared.name("on_rows" if plan.by_rows else "on_mesh"), self._put_specs(plan)
        keywords = plan.given_by_keyword or plan.any_keywords
        self.shared.needs_puts(plan.axis_name, specs=bool(more), keywords=keywords)
        if self.lowered:
            self.shared.needs_lower()
        self.shared.note(plan.axis_name)
        more += ", axis_name=$axis" if self.shared.is_other(plan.axis_name) else ""
        if fun:
            return f"{name}({fun}{more})"
        return f"{self.names.of('functools.partial')}({name}{more})" if more else name

    def _host_local(self, plan: MapPlan, fun: str, named: str, *, asked: bool = False) -> str | None:
        if plan.own_devices or plan.at_calls:
            return ""
        if not (self.processes and any(self._is_local(a) or a.local_fields for a in plan.everything)):
            return ""
        is_open = any(a.local_fields and a.is_open for a in plan.everything)
        if (plan.has_own_mesh and not plan.mesh) or is_open:
            return None
        if plan.choice is None and not all(a.split for a in plan.outputs):
            return None  # a process's own array, which what is the same on all devices is not
        if asked:
            return "host_local"
        name, more = self.shared.name("host_local"), self._local_specs(plan, named)
        inputs, outputs = ("**" in more or f"{one}=" in more for one in ("in_specs", "out_specs"))
        scalars = any(a.static or a.own or (plan.choice is None and not a.split) for a in plan.inputs)
        replicated = any(not a.split for a in plan.outputs)
        self.shared.needs_specs(inputs=inputs, outputs=outputs, scalars=scalars, replicated=replicated)
        if plan.given_by_keyword:
            self.shared.needs_keywords()
        if any(a.static for a in plan.inputs):
            self.shared.needs_static()
        if self.lowered:
            self.shared.needs_lower()
        self.shared.needs_mesh(given=bool(plan.mesh))
        if plan.mesh:
            more = f", mesh={plan.mesh}{more}"
        elif more:
            self.shared.tells_local(plan.axis_name)
            more += ", axis_name=$axis" if self.shared.is_other(plan.axis_name) else ""
        if fun:
            return f"{name}({fun}{more})"
        return f"{self.names.of('functools.partial')}({name}{more})" if more else name

    def _local_specs(self, plan: MapPlan, named: str) -> str:
        """What host_local is told of a map: nothing where it sees itself what is split along the first axis."""
        specs, more = self.specs(plan), ""
        ins = not all(self._says_itself(plan, a) for a in plan.inputs)
        outs = any(a.axis or a.aligned or a.aligned_fields or (a.split and not a.drops) for a in plan.outputs)
        outs = outs or (self.shared.says_outputs and any(not a.split for a in plan.outputs))
        own_rows = specs.rows() == specs.outputs()
        if ins and named.startswith("**") and own_rows:
            return f", {named}"
        if ins:
            more += f", in_specs={specs.inputs()}"
        if outs:
            more += f", out_specs={specs.rows()}"
        return more

    @staticmethod
    def _says_itself(plan: MapPlan, array: Array) -> bool:
        """Whether an argument shows what it is: it has a row for each device, is no array, or is global already."""
        global_already = plan.choice is not None
        return all(
            one.static or (one.axis == 0 if one.split else global_already and not one.own) for one in array.leaves
        )

    def _is_local(self, array: Array) -> bool:
        """Whether each process has rows of its own of an array, or all of one that others need not have."""
        return (array.drops and not array.aligned) or (array.own and self.unlike)

    @staticmethod
    def rows_of(plan: MapPlan, names: Sequence[str] | None) -> str:
        """The source of the arguments that have a row for each device."""
        if names is None:
            split = next((i for i, a in enumerate(plan.inputs) if a.drops), 0)
            every = "(args, kwargs)" if plan.any_keywords else "args"
            return every if plan.whole_in else f"args[{split}]"
        mapped = names if plan.whole_in else [n for n, a in zip(names, plan.inputs, strict=False) if a.drops]
        return mapped[0] if len(mapped) == 1 else f"({', '.join(mapped)})"

    def field_specs(self, plan: MapPlan) -> list[str]:
        """Statements that name the specs of objects some of whose fields are stacked."""
        spec, jax = self.names.of("jax.sharding.PartitionSpec"), self.names.of("jax")
        found = []
        for name, array in zip(self.argument_names(plan), plan.inputs, strict=True):
            if array.is_open:
                fields = ", ".join(f"{f}={spec}($axis)" for f in array.fields)
                found.append(
                    f"{name}_specs = {jax}.tree.map(lambda _: {spec}(), {name}).{array.method or 'replace'}({fields})"
                )
        return found

    @staticmethod
    def asks(plan: MapPlan) -> bool:
        """Whether only a function around a map can say what it needs."""
        fields = any(a.is_open for a in plan.inputs)
        return plan.by_rows or fields or plan.given_by_keyword or bool(plan.by_keyword)

    def wrapped(self, plan: MapPlan, mapped: str | Part, named: str = "") -> Code:
        """A function that cannot be changed, with one around it that drops and puts back the mapped axis."""
        name, more = self.shared.name("per_device"), self.wrapper_specs(plan, named)
        if more:
            self.shared.needs_axes(static=any(a.static for a in plan.inputs))
        if plan.any_keywords:
            self.shared.passes_keywords()
        fun = _by_name(replace(plan, any_keywords=False), mapped)
        return code(f"{name}($fun{more})", fun=fun, axis=self.axis(plan))

    def wrapper_specs(self, plan: MapPlan, named: str) -> str:
        """What per_device is told of a map: nothing where all arrays drop their first axis."""
        specs = self.specs(plan)
        ins, outs = specs.inputs(stacked=True), specs.outputs(stacked=True)
        every = [not all(a.mapped == 0 and not a.fields for a in arrays) for arrays in (plan.inputs, plan.outputs)]
        if any(every) and named.startswith("**") and (ins, outs) == (specs.inputs(), specs.outputs()):
            return f", {named}"
        return "".join(
            f", {name}={text}"
            for name, text, is_said in zip(("in_specs", "out_specs"), (ins, outs), every, strict=True)
            if is_said
        )

    def partial(self, plan: MapPlan, specs: str = "", *, above: bool = False) -> Code:
        """shard_map with the mesh and the specs of a map; `specs` are its keywords where they have names already.

        `above` a function it is a decorator.
        """
        said = self.specs(plan)
        specs = specs or f"in_specs={said.inputs()}, out_specs={said.outputs()}"
        called = "$jax.shard_map(" if above else f"{self.names.of('functools.partial')}($jax.shard_map, "
        return code(
            f"{called}mesh=$mesh, {specs}, check_vma=False)",
            jax=self.names.of("jax"),
            mesh=self.mesh(plan, ""),
            axis=self.axis(plan),
        )

    def whole(
        self, plan: MapPlan, mapped: str | Part, first: str, specs: str, *, wrapped: bool, common: str = ""
    ) -> Code:
        """The shard_map of a function, with the one around it where it cannot be changed itself.

        `common` is what shard_map is called with its mesh and specs.
        """
        fun: str | Part = mapped
        if wrapped:
            fun = self.wrapped(plan, mapped, specs)
            plan = replace(plan.around, paired=False)
        return code(f"{common}($fun)", fun=_by_name(plan, fun)) if common else self.shard_map(plan, fun, first, specs)


def needs_names(plan: MapPlan) -> bool:
    """Whether a function around a map needs the names of its parameters, and these are not known."""
    if plan.names is not None or plan.any_keywords:
        return False
    return plan.given_by_keyword or bool(plan.by_keyword) or any(a.fields for a in plan.inputs)


def passed(plan: MapPlan) -> tuple[str, str]:
    """The parameters of a function around a map, and what it gives the map."""
    if plan.names is not None:
        return (", ".join(plan.names),) * 2
    return ("*args, **kwargs", "args, kwargs") if plan.any_keywords else ("*args", "*args")


def _by_name(plan: MapPlan, fun: str | Part) -> str | Part:
    """A mapped function that takes by position what it takes by keyword alone, or all that is given by keyword."""
    if plan.any_keywords and not plan.paired:
        called = "$fun" if isinstance(fun, str | ast.Name | ast.Attribute | Code) else "($fun)"
        return code(f"lambda args, kwargs: {called}(*args, **kwargs)", fun=fun)
    if not plan.by_name or plan.names is None:
        return fun
    given = ", ".join(f"{name}={name}" if name in plan.by_name else name for name in plan.names)
    called = "$fun" if isinstance(fun, str | ast.Name | ast.Attribute) else "($fun)"
    return code(f"lambda {', '.join(plan.names)}: {called}({given})", fun=fun)


def _of_numbers(places: str | ast.expr) -> str | ast.expr:
    """Argument numbers; a tuple in one line without the comma at its end, which asks for a line for each."""
    alone = isinstance(places, ast.Tuple) and places.lineno == places.end_lineno and len(places.elts) > 1
    if alone and isinstance(places, ast.Tuple) and all(isinstance(one, ast.Constant) for one in places.elts):
        return ast.unparse(places)
    return places
