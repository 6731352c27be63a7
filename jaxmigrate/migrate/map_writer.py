"""The operations that turn mapped sites into `jax.jit(jax.shard_map(...))`.

A decorated function and one of the module's top are mapped within a function of theirs, so that importing the file
starts no backend; what is mapped where the program runs is mapped in place.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import indent

from jaxmigrate.migrate.bodies import Body, Words, body_function
from jaxmigrate.migrate.helper import all_devices
from jaxmigrate.migrate.kept_maps import FUN, TOLD, key_of, parameters, with_parameters
from jaxmigrate.migrate.keys import key_fields, key_parameters
from jaxmigrate.migrate.leading_axis import keeps_leading_axis
from jaxmigrate.migrate.map_places import MapPlaces
from jaxmigrate.migrate.maps import Array, MapPlan
from jaxmigrate.migrate.names import FileNames, names_in
from jaxmigrate.migrate.overriding import may_be_overridden
from jaxmigrate.migrate.repeated_maps import Key, RepeatedMaps
from jaxmigrate.migrate.runs_again import RunsAgain
from jaxmigrate.migrate.sharing import NAMES as SHARED_NAMES
from jaxmigrate.migrate.sharing import Shared
from jaxmigrate.migrate.specs import LONG, Specs, named
from jaxmigrate.migrate.stable_names import StableNames
from jaxmigrate.migrate.style import style_of
from jaxmigrate.migrate.wrappers import wrapper
from jaxmigrate.program.modules import Module
from jaxmigrate.program.operations import (
    After,
    Before,
    Code,
    Enclose,
    Marked,
    Operation,
    Part,
    Redecorate,
    Replace,
    ReplaceStatement,
    code,
)
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import is_decorator, listed
from jaxmigrate.program.syntax import last_name

Named = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True, eq=False)
class MapWriter:
    """Writes the maps of one file.

    `places` says where they stand, `stable` which names keep what they stand for, `again` which maps are made over and
    over, `repeated` which ones share a mesh and specs. `lowered`: `.lower` of some may be called.
    """

    module: Module
    resolver: Resolver
    names: FileNames
    shared: Shared
    quote: str
    places: MapPlaces
    stable: StableNames
    again: RunsAgain
    repeated: RepeatedMaps
    processes: bool
    own: bool
    lowered: bool
    ids: Mapping[ast.expr, str]
    files: Mapping[Module, FileNames]
    texts: Mapping[Path, str]
    operations: list[Operation] = field(default_factory=list)
    elsewhere: list[tuple[Module, Operation]] = field(default_factory=list)  # in bodies that other files have
    makers: dict[Hashable, list[tuple[str, ast.stmt]]] = field(default_factory=dict)  # what maps what several sites do
    methods: set[str] = field(default_factory=set)  # what mapped methods are called from now on
    common: dict[Key, str] = field(default_factory=dict)  # what shard_map with mesh and specs is called
    above: dict[str, list[tuple[str, ast.stmt]]] = field(default_factory=dict)  # names of what stands above statements

    def write(self, plan: MapPlan) -> bool:
        """Adds the operations of a site; False, and nothing is added, where it has no such form."""
        node, seen = plan.site.node, self._with_names_apart(plan)
        kept, kept_elsewhere = len(self.operations), len(self.elsewhere)
        if seen is None or (plan.lays_out and not self._can_lay_out(plan)):
            written = False
        elif is_decorator(node, self.module):
            written = self._enclose(seen)
        else:
            written = self._in_place(seen)
        if not written:
            del self.operations[kept:]
            del self.elsewhere[kept_elsewhere:]
        return written

    def _can_lay_out(self, plan: MapPlan) -> bool:
        """Whether a map that brings arguments to all devices can be compiled where it stands, once."""
        node = plan.site.node
        mapped = plan.site.mapped.expression if plan.site.mapped is not None else None
        if is_decorator(node, self.module) or mapped is None or plan.whole_in:
            return False
        donated = listed(plan.site, "donate_argnums", self.resolver)
        if donated is None or not all(i < len(plan.inputs) and plan.inputs[i].split for i in donated):
            return False  # whether what was moved is deleted, too, is another question
        again = self.again.repeats(node, mapped) or self.again.place(plan, mapped) is not None
        if again or self._asks(plan):
            return False
        return not self.places.is_deferred(plan) or self._can_put(plan, mapped)

    def _can_put(self, plan: MapPlan, mapped: ast.expr) -> bool:
        """Whether a function around a map that is made at import can bring its arguments to all devices."""
        statement = self.module.table.statement_of(plan.site.node)
        named = isinstance(statement, ast.Assign) and self.places.is_named(statement, plan)
        known = plan.names is not None and not self.lowered and not any(a.static for a in plan.inputs)
        return named and known and self.stable.is_stable(plan, [mapped])

    def _with_names_apart(self, plan: MapPlan) -> MapPlan | None:
        """The map without names of parameters that hide what the function around it needs; None where it needs both."""
        if plan.names is None:
            return plan
        mapped = plan.site.mapped.expression if plan.site.mapped is not None else None
        said = [one for one in (mapped, plan.devices, plan.backend, plan.axis) if isinstance(one, ast.expr)]
        within = {inner for one in said for inner in ast.walk(one)}
        needed = {one.id for one in names_in(said) if self._holder(one) not in within}
        needed |= {"jax", *SHARED_NAMES.values()}
        needed |= {self.names.of(one) for one in ("jax", "jax.sharding.PartitionSpec")}
        if needed.isdisjoint(plan.names):
            return plan
        apart = replace(plan, names=None)
        return None if _needs_names(apart) or plan.by_name else apart

    def _holder(self, name: ast.Name) -> ast.AST | None:
        """What binds a name of this file: the file, a function, a lambda."""
        scope = self.module.table.scope_of.get(name)
        holder = scope.lookup(name.id) if scope is not None else None
        return holder.node if holder is not None else None

    # the parts of a map

    def _axis(self, plan: MapPlan) -> str | Part:
        if plan.axis_source:
            return plan.axis_source
        if plan.axis_default:
            return code(f"$axis or {self.quote}{plan.axis_default}{self.quote}", axis=plan.axis)
        return plan.axis if isinstance(plan.axis, ast.expr) else f"{self.quote}{plan.axis}{self.quote}"

    def _specs(self, plan: MapPlan) -> Specs:
        return Specs(plan, self.names.of("jax.sharding.PartitionSpec"), self._own(plan))

    def _own(self, plan: MapPlan) -> tuple[str, ...]:
        """What the arguments are called in a function around the map."""
        if plan.names is not None and len(plan.names) >= len(plan.inputs):
            return plan.names[: len(plan.inputs)]
        return tuple(f"arg{i}" for i in range(len(plan.inputs)))

    def _mesh(self, plan: MapPlan, first: str) -> str | Code:
        """The mesh of a map; `first` is the source of what has a row for each device."""
        axis = self._axis(plan)
        if plan.mesh:
            return plan.mesh
        if plan.has_own_mesh:
            every = all_devices(self.names.of("jax"), "$backend", processes=self.processes)
            given = plan.devices or code(every, backend=plan.backend or "")
            return code("$mesh($devices, ($axis,))", mesh=self.names.of("jax.sharding.Mesh"), devices=given, axis=axis)
        if plan.by_rows:
            return code(self.shared.call("mesh_of", first, axis=plan), axis=axis)
        return code(self.shared.mesh(plan), axis=axis)

    def _map(self, plan: MapPlan, fun: str | Part, first: str, specs: str = "") -> Code:
        """The call of shard_map; `specs` are its keywords where they have names already."""
        said = self._specs(plan)
        specs = specs or f"in_specs={said.inputs()}, out_specs={said.outputs()}"
        return code(
            f"$jax.shard_map($fun, mesh=$mesh, {specs}, check_vma=False)",
            jax=self.names.of("jax"),
            fun=_by_name(plan, fun),
            mesh=self._mesh(plan, first),
            axis=self._axis(plan),
        )

    def _options(self, plan: MapPlan, layout: str | Part = "") -> tuple[str, dict[str, str | Part]]:
        """The keywords of jax.jit; `layout` is that of what the map itself brings to all devices.

        Arrays of one device are brought there as pmap does it; what has rows is left to the map.
        """
        found, parts = "", dict[str, str | Part]()
        if layout:
            each = ["None" if array.split else "$layout" for array in plan.inputs if not array.static]
            found += f", in_shardings=({', '.join(each)}{',' if len(each) == 1 else ''})"
            parts["layout"] = layout
        if plan.static:
            static = str(plan.static[0]) if len(plan.static) == 1 else f"({', '.join(map(str, plan.static))})"
            found += f", static_argnums={static}"
        if plan.donated is not None:
            found += ", donate_argnums=$donated"
            parts["donated"] = plan.donated
        return found, parts

    def _everywhere(self, plan: MapPlan) -> Code:
        """The layout of what is the same on all devices."""
        named, spec = self.names.of("jax.sharding.NamedSharding"), self.names.of("jax.sharding.PartitionSpec")
        return code(f"{named}($mesh, {spec}())", mesh=self._mesh(plan, ""))

    def _jit_decorators(
        self, plan: MapPlan, mark: str | None, specs: str = "", *, is_local: bool = True
    ) -> tuple[Code, ...]:
        options, parts = self._options(plan)
        jit = self.names.of("jax.jit")
        if options:
            made = code(f"{self.names.of('functools.partial')}({jit}{options})", **parts)
        else:
            made = code(jit)
        local = self._local(plan, "", specs) if is_local else ""
        outer = [code(local, axis=self._axis(plan))] if local else []
        every = [*outer, made]
        if mark is not None:
            every[0] = code("$marked", marked=Marked(mark, every[0]))
        return tuple(every)

    def _local(self, plan: MapPlan, fun: str = "", named: str = "") -> str | None:
        """The source of what gives a map this process's rows, in programs of several; `named` are its specs.

        Empty where it needs none; None where only the map that chooses its mesh at each call does it.
        """
        if plan.own_devices or plan.one_process:
            return ""
        if not (self.processes and any(self._is_local(a) or a.local_fields for a in plan.everything)):
            return ""
        is_open = any(a.local_fields and a.is_open for a in plan.everything)
        if (plan.has_own_mesh and not plan.mesh) or is_open:
            return None
        if plan.choice is None and not all(a.split for a in plan.outputs):
            return None  # a process's own array, which what is the same on all devices is not
        name, more = self.shared.name("host_local"), self._local_specs(plan, named)
        inputs, outputs = ("**" in more or f"{one}=" in more for one in ("in_specs", "out_specs"))
        scalars = any(a.static or a.own or (plan.choice is None and not a.split) for a in plan.inputs)
        replicated = any(not a.split for a in plan.outputs)
        self.shared.needs_specs(inputs=inputs, outputs=outputs, scalars=scalars, replicated=replicated)
        if plan.given_by_keyword:
            self.shared.needs_keywords()
        if self.lowered:
            self.shared.needs_lower()
        self.shared.needs_mesh(given=bool(plan.mesh))
        if plan.mesh:
            more = f", mesh={plan.mesh}{more}"
        elif more and not self.shared.one_axis:
            more = f"{more}, axis_name=$axis"
        if fun:
            return f"{name}({fun}{more})"
        return f"{self.names.of('functools.partial')}({name}{more})" if more else name

    def _local_specs(self, plan: MapPlan, named: str) -> str:
        """What host_local is told of a map: nothing where it sees itself what is split along the first axis."""
        specs, more = self._specs(plan), ""
        ins = not all(self._says_itself(plan, a) for a in plan.inputs)
        outs = any(a.axis or a.aligned or a.aligned_fields for a in plan.outputs)
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
        return array.static or (array.axis == 0 if array.split else plan.choice is not None and not array.own)

    def _is_local(self, array: Array) -> bool:
        """Whether each process has rows of its own of an array, or all of one that others need not have."""
        return (array.drops and not array.aligned) or (array.own and self.own)

    # forms

    def _enclose(self, plan: MapPlan) -> bool:
        """`@jax.jit` around a function that maps the decorated one, which keeps its body under a new name."""
        function = self.module.table.parents[plan.site.node]
        assert isinstance(function, Named)
        if isinstance(function, ast.AsyncFunctionDef) or any(n.id == function.name for n in names_in(function.body)):
            return False
        below = function.decorator_list[function.decorator_list.index(plan.site.node) + 1 :]
        if not below and self._decorate(plan, function):
            return True
        scope = self.module.table.scope_of[function]
        is_special = function.name.startswith("__") and function.name.endswith("__")
        inner = f"{function.name.strip('_') if is_special else function.name}_per_device"
        if self._local(plan) is None or (inner in self.names.taken and inner not in self.methods):
            return False
        body = self._body(plan) if not below else []
        found = self._enclosed(plan, function, inner, below=bool(below)) if body is not None else None
        if body is None or found is None:
            return False
        names = plan.names
        fun, plan = found
        signature = ", ".join(names) if names is not None else "*args"
        given = ", ".join(plan.names) if plan.names is not None else "*args"
        self.operations += body
        self.names.taken.add(inner)
        if scope.kind == "class":
            self.methods.add(inner)
        statements = self._field_specs(plan)
        specs = self._specs_above(plan, function)
        mapped = self._map(plan, fun, self._rows_of(plan, plan.names), specs)
        text = f"def {function.name}({signature}):\n" + "".join(f"    {line}\n" for line in statements)
        parts: dict[str, str | Part] = {"mapped": mapped, "axis": self._axis(plan)}
        self.operations.append(
            Enclose(
                function,
                code(f"{text}    return $mapped({given})", **parts),
                inner,
                (plan.site.node,),
                self._jit_decorators(plan, self.ids[plan.site.node], specs),
                tuple(below),
            )
        )
        return True

    def _decorate(self, plan: MapPlan, function: ast.FunctionDef) -> bool:
        """`@functools.partial(jax.shard_map, ...)` where the function is made while the program runs, mesh and all."""
        scope = self.module.table.scope_of[function]
        if scope.kind == "class" or self.places.is_deferred(plan) or self._asks(plan) or plan.by_name:
            return False
        body = self._body(plan)
        local = self._local(plan)
        if body is None or local is None:
            return False
        specs = self._specs_above(plan, function)
        common = self._common(plan, function) if not specs else ""
        mapped = code(common) if common else self._partial(plan, specs)
        decorators = (*self._jit_decorators(plan, self.ids[plan.site.node], specs), mapped)
        self.operations += [*body, Redecorate(function, plan.site.node, decorators)]
        return True

    def _specs_above(self, plan: MapPlan, function: Named) -> str:
        """The keywords of shard_map with the names of long specs that are said above a decorated function, or empty."""
        is_method = self.module.table.scope_of[function].kind == "class"
        if is_method or any(a.fields for a in plan.everything) or len(self._specs(plan).inputs()) <= LONG:
            return ""
        said, specs = self._named_specs(plan, wrapped=False, local=True)
        if said:
            lines = "\n".join(f"{name} = {text}" for name, text in said.items())
            self.operations.append(Before(function, code(lines, axis=self._axis(plan))))
        return specs

    def _enclosed(
        self, plan: MapPlan, function: Named, inner: str, *, below: bool
    ) -> tuple[str | Code, MapPlan] | None:
        """What is mapped within the function that takes a decorated one's place, and how; `below` other decorators."""
        scope = self.module.table.scope_of[function]
        if scope.kind != "class":
            if inner in self.methods or (plan.names is None and (plan.static or plan.by_keyword)):
                return None
            if not below:
                return inner, plan
            return (self._wrapped(plan, inner), plan.around) if plan.drops else None
        holder = scope.node
        others = [d for d in function.decorator_list if d is not plan.site.node]
        static = [ast.unparse(d) for d in others] == ["staticmethod"]
        if below or plan.names is None or (others and not static) or not isinstance(holder, ast.ClassDef):
            return None
        by_class = f"{holder.name}.{inner}" if holder in self.module.tree.body else ""
        if not static and not plan.whole_in and plan.inputs[0].static:
            fun = self._of_object(function, holder, plan.names[0], inner)
            return (fun, _without_first(plan)) if fun else None
        return (by_class, plan) if by_class else None  # the object is one of the arrays, where it is not static

    def _of_object(self, function: Named, holder: ast.ClassDef, own: str, inner: str) -> str:
        """The source of a method of an object; of its class by name where objects of others may come by."""
        if not may_be_overridden(function, holder, self.resolver):
            return f"{own}.{inner}"
        top = holder in self.module.tree.body and len(self.module.table.root.bindings.get(holder.name, ())) == 1
        return f"{self.names.of('functools.partial')}({holder.name}.{inner}, {own})" if top else ""

    @staticmethod
    def _rows_of(plan: MapPlan, names: Sequence[str] | None) -> str:
        """The source of the arguments that have a row for each device."""
        if names is None:
            split = next((i for i, a in enumerate(plan.inputs) if a.drops), 0)
            every = "(args, kwargs)" if plan.any_keywords else "args"
            return every if plan.whole_in else f"args[{split}]"
        mapped = names if plan.whole_in else [n for n, a in zip(names, plan.inputs, strict=False) if a.drops]
        return mapped[0] if len(mapped) == 1 else f"({', '.join(mapped)})"

    def _field_specs(self, plan: MapPlan) -> list[str]:
        """Statements that name the specs of objects some of whose fields are stacked."""
        spec, jax = self.names.of("jax.sharding.PartitionSpec"), self.names.of("jax")
        found = []
        for name, array in zip(self._own(plan), plan.inputs, strict=True):
            if array.is_open:
                fields = ", ".join(f"{f}={spec}($axis)" for f in array.fields)
                found.append(
                    f"{name}_specs = {jax}.tree.map(lambda _: {spec}(), {name}).{array.method or 'replace'}({fields})"
                )
        return found

    def _body(self, plan: MapPlan) -> list[Operation] | None:
        """What changes in the mapped function itself, None where it cannot be changed."""
        if not plan.drops or keeps_leading_axis(plan, self.resolver):
            return []
        squeezes = plan.choice.squeezes if plan.choice is not None else ()
        function = body_function(plan, self.resolver, self.texts)
        if function is None or function.module not in self.files:
            return None
        names = self.files[function.module]
        if not names.can_import:
            return None
        words = Words(names.of("jax"), names.of("jax.numpy"))
        keys = key_parameters(function, self.resolver)
        arrays = {s.name for s in squeezes}
        found = Body(plan, function, words, arrays, keys, key_fields(self.resolver)).operations()
        if found is None or function.module is self.module:
            return found
        self.elsewhere += [(function.module, one) for one in found]
        return []

    def _in_place(self, plan: MapPlan) -> bool:
        site = plan.site
        mapped = site.mapped.expression if site.mapped is not None else None
        if mapped is None or site.mapped is None or site.mapped.module is not self.module:
            return False
        plan = self._with_mesh(plan)
        if self._local(plan) is None:
            return False
        own = plan.choice is None and (plan.by_name or plan.any_keywords)
        body = self._body(plan) if not own else None
        if body is None and any(a.is_open for a in plan.everything):
            return False
        if not self._placed(plan, mapped, wrapped=body is None):
            return False
        self.operations += body or []
        return True

    def _placed(self, plan: MapPlan, mapped: ast.expr, *, wrapped: bool) -> bool:
        """Writes a map that is no decorator in the form that its place asks for."""
        if self._hoist(plan, mapped, wrapped=wrapped) or self._remembered(plan, mapped, wrapped=wrapped):
            return True
        if plan.choice is None and self.again.repeats(plan.site.node, mapped):
            return False  # the map that chooses its mesh keeps those that it made
        if plan.mesh:
            plan = self._mesh_above(plan)
        if not (self.places.is_deferred(plan) or self._asks(plan)):
            self._direct(plan, mapped, wrapped=wrapped)
            return True
        statement = self.module.table.statement_of(plan.site.node)
        fields = any(a.is_open for a in plan.inputs)
        if self.stable.is_stable(plan, [mapped]):
            if isinstance(statement, ast.Assign) and self.places.is_named(statement, plan):
                return self._define(plan, mapped, statement, wrapped=wrapped)
            return not fields and self._lambda(plan, mapped, wrapped=wrapped)
        if self._asks(plan):  # what is mapped is taken as it is now
            if self._bound(plan, mapped, statement, wrapped=wrapped):
                return True
            return (
                not fields and self.stable.is_stable(plan, []) and self._lambda(plan, mapped, wrapped=wrapped, now=True)
            )
        if self.places.holder(plan.site.node) is None:
            return False
        self._direct(plan, mapped, wrapped=wrapped)  # a function that importing runs has what it maps only then
        return True

    def _with_mesh(self, plan: MapPlan) -> MapPlan:
        """A map whose mesh has a name above its statement: of given devices, in programs of several processes."""
        place = self.places.above(plan)
        above = place is not None and self.places.is_value(plan, place) and not self.places.is_deferred(plan)
        given = plan.has_own_mesh and self.processes and not plan.own_devices
        return replace(plan, mesh="mesh") if given and above else plan

    @staticmethod
    def _asks(plan: MapPlan) -> bool:
        """Whether only a function around a map can say what it needs."""
        fields = any(a.is_open for a in plan.inputs)
        return plan.by_rows or fields or plan.given_by_keyword or bool(plan.by_keyword)

    def _wrapped(self, plan: MapPlan, mapped: str | ast.expr, named: str = "") -> Code:
        """A function that cannot be changed, with one around it that drops and puts back the mapped axis."""
        name, more = self.shared.name("per_device"), self._wrapper_specs(plan, named)
        if more:
            self.shared.needs_axes(static=any(a.static for a in plan.inputs))
        if plan.any_keywords:
            self.shared.passes_keywords()
        fun = _by_name(replace(plan, any_keywords=False), mapped)
        return code(f"{name}($fun{more})", fun=fun, axis=self._axis(plan))

    def _wrapper_specs(self, plan: MapPlan, named: str) -> str:
        """What per_device is told of a map: nothing where all arrays drop their first axis."""
        specs = self._specs(plan)
        ins, outs = specs.inputs(stacked=True), specs.outputs(stacked=True)
        every = [not all(a.mapped == 0 and not a.fields for a in arrays) for arrays in (plan.inputs, plan.outputs)]
        if any(every) and named.startswith("**") and (ins, outs) == (specs.inputs(), specs.outputs()):
            return f", {named}"
        return "".join(
            f", {name}={text}"
            for name, text, is_said in zip(("in_specs", "out_specs"), (ins, outs), every, strict=True)
            if is_said
        )

    def _own_wrapper(self, plan: MapPlan, mapped: str | ast.expr, title: str = "") -> tuple[str, Code] | None:
        """A function beside the map around what it maps, with its name; None where per_device is to do the same."""
        style, words = style_of(self.module), Words(self.names.of("jax"), self.names.of("jax.numpy"))
        statement = self.module.table.statement_of(plan.site.node)
        column = statement.col_offset if statement is not None else 0
        called = self.module.table.parents.get(plan.site.node)
        now = isinstance(called, ast.Call) and called.func is plan.site.node  # what is mapped is evaluated there, too
        stable = isinstance(mapped, str) or now or self.stable.is_stable(plan, [mapped])
        plain = not self._wrapper_specs(plan, "")
        above = "" if stable or plain else self._bound_above(plan, mapped)
        room = style.width - column - len(style.indent)
        made = wrapper(plan, above or mapped, words, room) if stable or above else None
        if not self.shared.wraps_beside(plan.site.node, plain=plain, can=made is not None) or made is None:
            return None
        name = title or self._name_above(plan, f"{self.places.stem(plan)}_per_device")
        text, parts = made
        if above:
            text, parts = f"{above} = $bound\n\n{text}", {**parts, "bound": mapped}
        return name, code(text, name=name, **parts)

    def _bound_above(self, plan: MapPlan, mapped: str | ast.expr) -> str:
        """A name for what is mapped, which is evaluated once, above its statement; empty where it cannot be so."""
        place = self.places.above(plan)
        if isinstance(mapped, str | ast.Lambda) or place is None or not self.places.is_value(plan, place):
            return ""
        return self._name_above(plan, f"bound_{self.places.stem(plan)}")

    def _direct(self, plan: MapPlan, mapped: str | ast.expr, *, wrapped: bool) -> None:
        """`jax.jit(jax.shard_map(...))` in place; what is said more than once is said above the statement."""
        place = self.places.above(plan)
        if wrapped and place is not None and (own := self._own_wrapper(plan, mapped)) is not None:
            self.operations.append(Before(place, own[1]))
            self._direct(plan.around, own[0], wrapped=False)
            return
        if plan.lays_out and place is not None and not (self.processes or self.shared.has_get_mesh):
            plan = self._mesh_above(plan)  # which is said twice
        said, specs = self._named_specs(plan, wrapped=wrapped, local=True) if place is not None else ({}, "")
        above, parts = list[str](), dict[str, str | Part]()
        for name, text in [*said.items()] if place is not None else ():
            assert place is not None
            known = self._known_above(plan, place, name, text)
            above += [f"{name} = {text}"] if known == name else []
            specs = re.sub(rf"\b{name}\b", known, specs)
            said[known] = said.pop(name)
        common = self._common(plan, place) if place is not None and not said else ""
        made = self._whole(plan, mapped, "", specs, wrapped=wrapped, common=common)
        local = self._local(plan, "$made", specs)
        for name, text in said.items():
            local = local and local.replace(text, name)
        if local and not common and place is not None and self.places.is_value(plan, place):
            name = self._name_above(plan, f"sharded_{self.places.stem(plan)}")
            above.append(f"{name} = $mapped")
            parts["mapped"] = made
            made = code(name)
        layout: str | Code = self._everywhere(plan) if plan.lays_out else ""
        if isinstance(layout, Code) and place is not None:
            name = self._name_above(plan, "replicated")
            known = self._known_above(plan, place, name, f"{layout.text} {plan.mesh}")
            above += [f"{name} = $layout"] if known == name else []
            parts["layout"], layout = layout, known
        if above and place is not None:
            self.operations.append(Before(place, code("\n".join(above), axis=self._axis(plan), **parts)))
        options, more = self._options(plan, layout)
        self._put(plan, code(f"$jit($mapped{options})", jit=self.names.of("jax.jit"), mapped=made, **more), local)

    def _known_above(self, plan: MapPlan, place: ast.stmt, name: str, says: str) -> str:
        """The name under which a statement further up in the same block says the same already; else `name`."""
        axis = self._axis(plan)
        key = f"{says} {ast.dump(axis) if isinstance(axis, ast.expr) else axis}"
        beside = self.module.table.block_of(place)
        every = self.above.setdefault(key, [])
        known = next((one for one, at in every if at in beside and at.lineno <= place.lineno), name)
        every.append((known, place))
        return known

    def _common(self, plan: MapPlan, place: ast.stmt) -> str:
        """What shard_map is called with a mesh and specs that several maps of a function share; empty without such."""
        said = self._specs(plan)
        key = self.repeated.key(plan, (said.inputs(), said.outputs()))
        if key is None:
            return ""
        if not self.shared.is_final:
            self.repeated.note(key, place)
        first = self.repeated.first(key, place)
        if first is not None and key not in self.common:
            self.common[key] = self._name_above(plan, "local_shard_map" if plan.own_devices else "shard_map")
            self.operations.append(Before(first, code(f"{self.common[key]} = $made", made=self._partial(plan))))
        return self.common[key] if first is not None else ""

    def _partial(self, plan: MapPlan, specs: str = "") -> Code:
        """shard_map with the mesh and the specs of a map; `specs` are its keywords where they have names already."""
        said = self._specs(plan)
        specs = specs or f"in_specs={said.inputs()}, out_specs={said.outputs()}"
        return code(
            f"{self.names.of('functools.partial')}($jax.shard_map, mesh=$mesh, {specs}, check_vma=False)",
            jax=self.names.of("jax"),
            mesh=self._mesh(plan, ""),
            axis=self._axis(plan),
        )

    def _whole(
        self, plan: MapPlan, mapped: str | ast.expr, first: str, specs: str, *, wrapped: bool, common: str = ""
    ) -> Code:
        """The shard_map of a function, with the one around it where it cannot be changed itself.

        `common` is what shard_map is called with its mesh and specs.
        """
        fun: str | Part = mapped
        if wrapped:
            fun = self._wrapped(plan, mapped, specs)
            plan = replace(plan.around, paired=False)
        return code(f"{common}($fun)", fun=_by_name(plan, fun)) if common else self._map(plan, fun, first, specs)

    def _mesh_above(self, plan: MapPlan) -> MapPlan:
        """A map whose mesh has its name, by a statement above its own."""
        place, name = self.places.above(plan), self._name_above(plan, "mesh")
        assert place is not None
        made = self._mesh(replace(plan, mesh=""), "")
        known = self._known_above(plan, place, name, "mesh") if not plan.has_own_mesh else name
        if known == name:
            self.operations.append(Before(place, code(f"{name} = $mesh", mesh=made)))
        return replace(plan, mesh=known)

    def _named_specs(self, plan: MapPlan, *, wrapped: bool, local: bool) -> tuple[dict[str, str], str]:
        """Names for what would stand at a site more than once, and the keywords of shard_map then."""
        specs = self._specs(plan)
        texts, names = named([specs.inputs(), specs.outputs()], plan)
        names = {self._name_above(plan, name): text for name, text in names.items()}
        again = wrapped and self._wrapper_specs(plan, "**") == ", **"
        if again or (local and ", **" in (self._local(plan, "$made", "**") or "")):
            stem = self._name_above(plan, f"{self.places.stem(plan)}_specs")
            return {**names, stem: f"dict(in_specs={texts[0]}, out_specs={texts[1]})"}, f"**{stem}"
        return names, f"in_specs={texts[0]}, out_specs={texts[1]}" if names else ""

    def _name_above(self, plan: MapPlan, proposal: str) -> str:
        """A name for something above the statement of a site."""
        return self.names.local(proposal, self.places.holder(plan.site.node))

    def _put(self, plan: MapPlan, made: Code, local: str | None) -> None:
        if local:
            made = code(local, made=made, axis=self._axis(plan))
        self.operations.append(
            Replace(plan.site.node, code("$marked", marked=Marked(self.ids[plan.site.node], made, mapped=True)))
        )

    def _lambda(self, plan: MapPlan, mapped: str | ast.expr, *, wrapped: bool, now: bool = False) -> bool:
        """`jax.jit` of a function that maps when it is called, and touches no backend before: one above, or a lambda.

        With `now` what is mapped is evaluated where the site stands, and not at each call.
        """
        if _needs_names(plan):
            return False
        place = self.places.above(plan)
        if wrapped and not now and place is not None and (own := self._own_wrapper(plan, mapped)) is not None:
            self.operations.append(Before(place, own[1]))
            mapped, wrapped, plan = own[0], False, plan.around
        named = plan.given_by_keyword or plan.by_keyword
        signature, given = _passed(plan if named else replace(plan, names=None))
        options, parts = self._options(plan)
        rows = self._rows_of(plan, plan.names if named else None)
        above = place is not None and self._is_in_function(place) and not self.places.is_magic(place)
        fun = ""
        if now and above and not self.stable.in_loop(plan.site.node):
            assert place is not None
            fun = self._name_above(plan, f"bound_{self.places.stem(plan)}")
            self.operations.append(Before(place, code(f"{fun} = $bound", bound=mapped)))
        elif now:
            fun = "fun" if "fun" not in (plan.names or ()) else self.names.free("mapped_fun")
            first, star, more = signature.partition(", **")
            signature = f"{first}{', *' if named and not more else ''}, {fun}=$bound{star}{more}"
            parts["bound"] = mapped if not isinstance(mapped, str) else code(mapped)
        called = self._whole(plan, fun or mapped, rows, "", wrapped=wrapped)
        jit = self.names.of("jax.jit")
        if above:
            assert place is not None
            name = self._name_above(plan, f"sharded_{self.places.stem(plan)}")
            bound = {"bound": parts.pop("bound")} if "bound" in parts else {}
            text = f"def {name}({signature}):\n    return $mapped({given})"
            self.operations.append(Before(place, code(text, mapped=called, **bound)))
            made = code(f"$jit({name}{options})", jit=jit, **parts)
        else:
            made = code(f"$jit(lambda {signature}: $mapped({given}){options})", jit=jit, mapped=called, **parts)
        self._put(plan, made, self._local(plan, "$made"))
        return True

    def _is_in_function(self, statement: ast.stmt) -> bool:
        """Whether a statement is one of a function, where a function above it is seen by nobody else."""
        own = self.module.table.scope_of.get(statement)
        return own is not None and own.kind == "function"

    def _define(self, plan: MapPlan, mapped: ast.expr, statement: ast.Assign, *, wrapped: bool) -> bool:
        """A function in the place of `name = pmap(f)`."""
        target = statement.targets[0]
        assert isinstance(target, ast.Name)
        if _needs_names(plan):
            return False
        made = self._definition(plan, mapped, target.id, wrapped=wrapped)
        self.operations.append(ReplaceStatement(statement, made))
        return True

    def _definition(
        self,
        plan: MapPlan,
        mapped: str | ast.expr,
        name: str,
        *,
        wrapped: bool,
        bound: ast.expr | None = None,
        is_marked: bool = True,
    ) -> Code:
        """A function with a name that maps what is mapped each time that it is traced; `bound` gets its name first."""
        if wrapped and (own := self._own_wrapper(plan, mapped)) is not None:
            first = "" if bound is None else f"{mapped} = $bound\n"
            inner = self._definition(plan.around, own[0], name, wrapped=False, is_marked=is_marked)
            every = {**own[1].parts, **inner.parts}
            return Code(f"{first}{inner.text}\n\n{own[1].text}", every if bound is None else {**every, "bound": bound})
        names = plan.names
        signature, given = _passed(plan)
        open_fields = self._field_specs(plan)
        said, specs = ({}, "") if open_fields else self._named_specs(plan, wrapped=wrapped, local=True)
        made = self._whole(plan, mapped, self._rows_of(plan, names), specs, wrapped=wrapped)
        inside = "".join(f"    {line}\n" for line in open_fields)
        mark = self.ids[plan.site.node] if is_marked else None
        decorators = self._jit_decorators(plan, mark, specs, is_local=not plan.lays_out)
        function = self.names.free(f"sharded_{name}") if plan.lays_out else name
        heads = "".join(f"@$decorator{i}\n" for i in range(len(decorators)))
        parts: dict[str, str | Part] = {f"decorator{i}": d for i, d in enumerate(decorators)}
        named_first = "".join(f"{one} = {text}\n" for one, text in said.items())
        if bound is not None:
            named_first, parts["bound"] = f"{mapped} = $bound\n{named_first}", bound
        text = f"{named_first}{heads}def {function}({signature}):\n{inside}    return $mapped({given})"
        if plan.lays_out:
            text += "\n\n\n" + self._putting(plan, name, function, specs)
            parts["everywhere"] = self._everywhere(plan)
        return code(text, mapped=made, axis=self._axis(plan), **parts)

    def _putting(self, plan: MapPlan, name: str, inner: str, specs: str) -> str:
        """The source of a function that brings to all devices what is the same on them, as pmap does, and maps all."""
        assert plan.names is not None
        put = [one for one, array in zip(plan.names, plan.inputs, strict=False) if not array.split]
        every = put[0] if len(put) == 1 else f"({', '.join(put)})"
        local, given = self._local(plan, "", specs), ", ".join(plan.names)
        return (
            f"{f'@{local}' if local else ''}\ndef {name}({given}):\n"
            f"    {', '.join(put)} = {self.names.of('jax')}.device_put({every}, $everywhere)\n"
            f"    return {inner}({given})"
        ).lstrip("\n")

    def _bound(self, plan: MapPlan, mapped: ast.expr, statement: ast.stmt | None, *, wrapped: bool) -> bool:
        """What is mapped gets a name, which a function in the place of `name = pmap(f)` maps."""
        if not isinstance(statement, ast.Assign) or not self.places.is_named(statement, plan) or _needs_names(plan):
            return False
        target, callee = (
            statement.targets[0],
            mapped.args[0] if isinstance(mapped, ast.Call) and mapped.args else mapped,
        )
        assert isinstance(target, ast.Name)
        if self.stable.in_loop(statement) or not self.stable.is_stable(plan, []):
            return False
        name = self.names.free(f"bound_{last_name(callee) or target.id}")
        made = self._definition(plan, name, target.id, wrapped=wrapped, bound=mapped)
        self.operations.append(ReplaceStatement(statement, made))
        return True

    def _hoist(self, plan: MapPlan, mapped: ast.expr, *, wrapped: bool) -> bool:
        """A function above the one that maps at each of its calls: jit would compile anew, which pmap does not."""
        place = self.again.place(plan, mapped)
        if place is None or _needs_names(plan) or not self.stable.is_stable(plan, [mapped]):
            return False
        key = (ast.dump(mapped), key_of(plan, wrapped=wrapped))
        beside = self.module.table.block_of(place)
        name = next((one for one, at in self.makers.get(key, ()) if at in beside and at.lineno <= place.lineno), "")
        if not name:
            name = self.names.free(f"sharded_{last_name(mapped).lstrip('_')}")
            made = self._definition(plan, mapped, name, wrapped=wrapped, is_marked=False)
            behind = isinstance(mapped, ast.Name) and getattr(place, "name", None) == mapped.id
            self.operations.append(After(place, made) if behind else Before(place, made))
            self.makers.setdefault(key, []).append((name, place))
        self._put(plan, code(name), "")
        return True

    def _remembered(self, plan: MapPlan, mapped: ast.expr, *, wrapped: bool) -> bool:
        """A function above that makes a map once for each function that it is given, as pmap's cache does."""
        place = self.again.outermost(replace(plan, mesh=""), mapped)
        if place is None or _needs_names(plan) or any(a.is_open for a in plan.everything):
            return False
        cache = self.names.of("functools.lru_cache")
        own = with_parameters(plan, self.module)
        key = key_of(own, wrapped=wrapped)
        name = next((one for one, above in self.makers.get(key, ()) if above.lineno <= place.lineno), "")
        if not name:
            made = self._maker(own, wrapped=wrapped)
            if made is None:
                return False
            name = self.names.free("sharded", f"sharded_{last_name(mapped).lstrip('_')}")
            self.operations.append(Before(place, code(f"@$cache\ndef {name}{made.text}", cache=cache, **made.parts)))
            self.makers.setdefault(key, []).append((name, place))
        brought = {
            "axis_name": self._axis(replace(plan, axis_source="")),
            "mesh": self._mesh(replace(plan, mesh=""), ""),
        }
        parts = {one: brought[one] for one in parameters(own)}
        called = code(f"{name}({', '.join(f'${one}' for one in ('fun', *parts))})", fun=mapped, **parts)
        self._put(plan, called, "")
        return True

    def _maker(self, plan: MapPlan, *, wrapped: bool) -> Code | None:
        """A function of what is mapped that gives its map, from its parameters on."""
        fun, first, parts = FUN, "", dict[str, str | Part]()
        if wrapped and (own := self._own_wrapper(plan, FUN, "block")) is not None:
            fun, wrapped, plan = own[0], False, plan.around
            first, parts = f"\n{indent(own[1].text, '    ')}\n\n", {**own[1].parts}
        named = plan.given_by_keyword or plan.by_keyword
        names = plan.names if named else None
        options, more = self._options(plan)
        taken, given = _passed(replace(plan, names=names))
        mapped = self._whole(plan, fun, self._rows_of(plan, names), "", wrapped=wrapped)
        call = f"lambda {taken}: $mapped({given})" if self._asks(plan) else "$mapped"
        made = code(f"$jit({call}{options})", jit=self.names.of("jax.jit"), mapped=mapped, **more)
        local = self._local(plan, "$made")
        if local is None:
            return None
        signature = ", ".join([FUN, *parameters(plan)])
        text = f"({signature}):\n    {TOLD}\n{first}    return {local or '$made'}"
        return code(text, made=made, axis=self._axis(plan), **parts)


def _needs_names(plan: MapPlan) -> bool:
    """Whether a function around a map needs the names of its parameters, and these are not known."""
    if plan.names is not None or plan.any_keywords:
        return False
    return plan.given_by_keyword or bool(plan.by_keyword) or any(a.fields for a in plan.inputs)


def _passed(plan: MapPlan) -> tuple[str, str]:
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


def _without_first(plan: MapPlan) -> MapPlan:
    names = plan.names[1:] if plan.names is not None else None
    return replace(plan, inputs=plan.inputs[1:], names=names)
