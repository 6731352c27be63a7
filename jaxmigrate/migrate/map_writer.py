"""The operations that turn mapped sites into `jax.jit(jax.shard_map(...))`.

A decorated function and one of the module's top are mapped within a function of theirs, so that importing the file
starts no backend; what is mapped where the program runs is mapped in place.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from textwrap import indent

from jaxmigrate.flow.layout.reachable_modules import ReachableModules
from jaxmigrate.migrate.bodies import Body, Words
from jaxmigrate.migrate.body_functions import body_function, made_function
from jaxmigrate.migrate.compiled import compiling
from jaxmigrate.migrate.kept_defaults import kept_defaults
from jaxmigrate.migrate.kept_maps import FUN, TOLD, key_of, parameters, with_parameters
from jaxmigrate.migrate.keys import key_fields, key_parameters
from jaxmigrate.migrate.leading_axis import keeps_leading_axis
from jaxmigrate.migrate.map_parts import MapParts, needs_names, passed
from jaxmigrate.migrate.map_places import MapPlaces
from jaxmigrate.migrate.maps import MapPlan
from jaxmigrate.migrate.names import FileNames, names_in
from jaxmigrate.migrate.names_above import NamesAbove
from jaxmigrate.migrate.overriding import is_called_of_objects, may_be_overridden
from jaxmigrate.migrate.runs_again import RunsAgain
from jaxmigrate.migrate.sharing import NAMES as SHARED_NAMES
from jaxmigrate.migrate.specs import LONG
from jaxmigrate.migrate.stable_names import StableNames
from jaxmigrate.program.modules import Module
from jaxmigrate.program.operations import (
    After,
    Before,
    Code,
    DropStatement,
    Enclose,
    Marked,
    NameArgument,
    Operation,
    Part,
    Redecorate,
    Replace,
    ReplaceStatement,
    code,
)
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import is_decorator, listed, mapped_function
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Function

Named = ast.FunctionDef | ast.AsyncFunctionDef
OF_PMAP = re.compile(r"(?<=\w)_pmap(ped)?$|^pmap(ped)?_(?=[A-Za-z])")  # what the name of a map says of it
ROOM = 50  # characters of the names of arguments


@dataclass(slots=True, eq=False)
class MapWriter:
    """Writes the maps of one file.

    `places` says where they stand, `stable` which names keep what they stand for, `again` which maps are made over and
    over, `above` names what several say.
    """

    module: Module
    resolver: Resolver
    parts: MapParts
    places: MapPlaces
    stable: StableNames
    again: RunsAgain
    above: NamesAbove
    ids: Mapping[ast.expr, str]
    files: Mapping[Module, FileNames]
    reachable: ReachableModules
    operations: list[Operation]
    elsewhere: list[tuple[Module, Operation]] = field(default_factory=list)  # in bodies that other files have
    makers: dict[Hashable, list[tuple[str, ast.stmt]]] = field(default_factory=dict)  # what maps what several sites do
    methods: set[str] = field(default_factory=set)  # what mapped methods are called from now on

    def write(self, plan: MapPlan) -> bool:
        """Adds the operations of a site; False, and nothing is added, where it has no such form."""
        node, seen = plan.site.node, self._with_names_apart(plan)
        kept, kept_elsewhere = len(self.operations), len(self.elsewhere)
        if seen is not None and plan.moves and not self._can_lay_out(plan):
            seen = self.parts.brought(seen)
        elif plan.lays_out and not self._can_lay_out(plan):
            seen = None
        if seen is None:
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
        if is_decorator(node, self.module) or mapped is None or plan.has_parts or any(a.fields for a in plan.inputs):
            return False
        if plan.whole_in and not plan.moves:
            return False
        donated = listed(plan.site, "donate_argnums", self.resolver)
        every = plan.inputs * (1 + max(donated or (0,))) if plan.whole_in else plan.inputs
        if donated is None or not all(i < len(every) and every[i].split for i in donated):
            return False  # whether what was moved is deleted, too, is another question
        again = self.again.repeats(node, mapped) or self.again.place(plan, mapped) is not None
        if again or self.parts.asks(plan):
            return False
        return not self.places.is_deferred(plan) or (not plan.moves and self._can_put(plan, mapped))

    def _can_put(self, plan: MapPlan, mapped: ast.expr) -> bool:
        """Whether a function around a map that is made at import can bring its arguments to all devices."""
        statement = self.module.table.statement_of(plan.site.node)
        named = isinstance(statement, ast.Assign) and self.places.is_named(statement, plan)
        known = plan.names is not None and not self.parts.lowered and not any(a.static for a in plan.inputs)
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
        needed |= {self.parts.names.of(one) for one in ("jax", "jax.sharding.PartitionSpec")}
        if needed.isdisjoint(plan.names):
            return plan
        apart = replace(plan, names=None)
        return None if needs_names(apart) or plan.by_name else apart

    def _holder(self, name: ast.Name) -> ast.AST | None:
        """What binds a name of this file: the file, a function, a lambda."""
        scope = self.module.table.scope_of.get(name)
        holder = scope.lookup(name.id) if scope is not None else None
        return holder.node if holder is not None else None

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
        return self._around(plan, function, below)

    def _around(self, plan: MapPlan, function: ast.FunctionDef, below: list[ast.expr], *, changes: bool = True) -> bool:
        """The function that maps another, which has its decorators from the map on, and its body, by a new name.

        `changes`: whether what changes in the body is still to be written.
        """
        scope = self.module.table.scope_of[function]
        is_special = function.name.startswith("__") and function.name.endswith("__")
        name = function.name.strip("_") if is_special else function.name
        inner, short = f"{name}_per_device", f"{OF_PMAP.sub('', name)}_per_device"
        inner = inner if short in self.parts.names.taken else short
        if not self.parts.has_local(plan) or (inner in self.parts.names.taken and inner not in self.methods):
            return False
        own = function if plan.site.node not in function.decorator_list else None
        body = self._body(plan, own) if changes and not below else []
        found = self._enclosed(plan, function, inner, below=bool(below)) if body is not None else None
        if body is None or found is None:
            return False
        fun, around = found
        signature, given = passed(plan)[0], passed(around)[1]
        self.operations += body
        self.parts.names.taken.add(inner)
        if scope.kind == "class":
            self.methods.add(inner)
        statements = self.parts.field_specs(around)
        specs = self._specs_above(around, function)
        mapped = self.parts.shard_map(around, fun, self.parts.rows_of(around, around.names), specs)
        text = f"def {function.name}({signature}):\n" + "".join(f"    {line}\n" for line in statements)
        parts: dict[str, str | Part] = {"mapped": mapped, "axis": self.parts.axis(plan)}
        compiled = self._compiling(plan)
        dropped = (compiled,) if compiled is not None else ()
        if plan.site.node in function.decorator_list:
            dropped = (*dropped, plan.site.node)
        self.operations.append(
            Enclose(
                function,
                code(f"{text}    return $mapped({given})", **parts),
                inner,
                dropped,
                self.parts.jit_decorators(plan, self.ids[plan.site.node], specs),
                tuple(below),
                tuple(kept_defaults(plan, function)),
            )
        )
        return True

    def _decorate(self, plan: MapPlan, function: ast.FunctionDef) -> bool:
        """`@functools.partial(jax.shard_map, ...)` where the function is made while the program runs, mesh and all."""
        scope = self.module.table.scope_of[function]
        if (
            scope.kind == "class"
            or self.places.is_deferred(plan)
            or self.parts.asks(plan)
            or plan.by_name
            or plan.any_keywords
        ):
            return False
        body = self._body(plan)
        if body is None or not self.parts.has_local(plan):
            return False
        specs = self._specs_above(plan, function)
        common = self.above.common(plan, function) if not specs else ""
        mapped = code(common) if common else self.parts.partial(plan, specs, above=True)
        decorators = (*self.parts.jit_decorators(plan, self.ids[plan.site.node], specs), mapped)
        compiled = self._compiling(plan)
        dropped = (compiled,) if compiled is not None else ()
        self.operations += [*body, Redecorate(function, plan.site.node, decorators, dropped)]
        return True

    def _specs_above(self, plan: MapPlan, function: Named) -> str:
        """The keywords of shard_map with the names of long specs that are said above a decorated function, or empty."""
        is_method = self.module.table.scope_of[function].kind == "class"
        if is_method or any(a.fields for a in plan.everything) or len(self.parts.specs(plan).inputs()) <= LONG:
            return ""
        said, specs = self.above.specs(plan, wrapped=False, local=True)
        if said:
            lines = "\n".join(f"{name} = {text}" for name, text in said.items())
            self.operations.append(Before(function, code(lines, axis=self.parts.axis(plan))))
        return specs

    def _enclosed(
        self, plan: MapPlan, function: Named, inner: str, *, below: bool
    ) -> tuple[str | Part, MapPlan] | None:
        """What is mapped within the function that takes a decorated one's place, and how; `below` other decorators."""
        scope = self.module.table.scope_of[function]
        if scope.kind != "class":
            if inner in self.methods or (plan.names is None and (plan.static or plan.by_keyword)):
                return None
            if not below:
                return self._bound_static(plan, inner, function)
            return (self.parts.wrapped(plan, inner), plan.around) if plan.drops else None
        holder = scope.node
        others = [d for d in function.decorator_list if d is not plan.site.node]
        static = [ast.unparse(d) for d in others] == ["staticmethod"]
        if below or plan.names is None or (others and not static) or not isinstance(holder, ast.ClassDef):
            return None
        by_class = f"{holder.name}.{inner}" if holder in self.module.tree.body else ""
        if not static and not plan.whole_in and plan.inputs[0].static:
            is_new = not any(inner in module.text for module in self.resolver.project.program)
            of_objects = is_new and is_called_of_objects(function, self.resolver)  # each class with both, or neither
            if of_objects or not may_be_overridden(function, holder, self.resolver):
                rest = plan.part(1, len(plan.inputs))
                return self._bound_static(rest, f"{plan.names[0]}.{inner}", function)
            top = by_class and len(self.module.table.root.bindings.get(holder.name, ())) == 1
            return self._bound_static(plan, by_class, function) if top else None  # objects of others may come by
        return (by_class, plan) if by_class else None  # the object is one of the arrays, where it is not static

    def _bound_static(self, plan: MapPlan, fun: str, function: Named) -> tuple[str | Part, MapPlan]:
        """What is mapped with its static arguments, and the map of the others."""
        by_position = {one.arg for one in function.args.posonlyargs}
        return self.parts.bound(plan, fun, by_keyword=by_position.isdisjoint(plan.names or ()))

    def _body(self, plan: MapPlan, own: ast.FunctionDef | None = None) -> list[Operation] | None:
        """What changes in the mapped function itself, None where it cannot be changed: it may be for the map alone."""
        if not plan.drops or keeps_leading_axis(plan, self.resolver):
            return []
        squeezes = plan.choice.squeezes if plan.choice is not None else ()
        function = Function(self.module, own) if own else body_function(plan, self.resolver, self.reachable)
        if function is None and (function := made_function(plan, self.resolver, self.reachable)) is not None:
            plan = replace(plan, names=None)  # which calls have for what they pass
        if function is None or function.module not in self.files:
            return None
        names = self.files[function.module]
        if not names.can_import:
            return None
        words = Words(names.of("jax"), names.of("jax.numpy"))
        keys = key_parameters(function, self.resolver)
        arrays = {s.name for s in squeezes}
        found = Body(plan, function, words, arrays, keys, key_fields(self.resolver), self.resolver).operations()
        if found is None or function.module is self.module:
            return found
        self.elsewhere += [(function.module, one) for one in found]
        return []

    def _in_place(self, plan: MapPlan) -> bool:
        site = plan.site
        mapped = site.mapped.expression if site.mapped is not None else None
        if mapped is None or site.mapped is None or site.mapped.module is not self.module:
            return False
        plan = self._by_place(self._with_mesh(plan))
        if not self.parts.has_local(plan):
            return False
        own = plan.choice is None and (plan.by_name or plan.any_keywords)
        body = self._body(plan) if not own else None
        if body is None and any(a.is_open for a in plan.everything):
            return False
        if not self._placed(plan, mapped, wrapped=body is None):
            return False
        self.operations += body or []
        return True

    def _by_place(self, plan: MapPlan) -> MapPlan:
        """A map that is called where it is made, and nowhere else, is given by place what it was given by keyword."""
        call = self.module.table.parents.get(plan.site.node)
        if not (isinstance(call, ast.Call) and call.func is plan.site.node and plan.given_by_keyword):
            return plan
        given, names = tuple(one.arg for one in call.keywords), plan.names or ()
        if plan.donated is not None or plan.static or plan.by_keyword or given != names[-len(given) :]:
            return plan
        self.operations += [NameArgument(call, one, "") for one in call.keywords]
        return replace(plan, given_by_keyword=False)

    def _placed(self, plan: MapPlan, mapped: ast.expr, *, wrapped: bool) -> bool:
        """Writes a map that is no decorator in the form that its place asks for."""
        if self._hoist(plan, mapped, wrapped=wrapped) or self._remembered(plan, mapped, wrapped=wrapped):
            return True
        if plan.choice is None and self.again.repeats(plan.site.node, mapped):
            return False  # the map that chooses its mesh keeps those that it made
        if plan.mesh:
            plan = self.above.mesh(plan)
        if not (self.places.is_deferred(plan) or self.parts.asks(plan)):
            self._direct(plan, mapped, wrapped=wrapped)
            return True
        statement = self.module.table.statement_of(plan.site.node)
        fields = any(a.is_open for a in plan.inputs)
        if isinstance(statement, ast.Assign) and self._renewed(plan, statement, wrapped=wrapped):
            return True
        if self.stable.is_stable(plan, [mapped]):
            if isinstance(statement, ast.Assign) and self.places.can_be_def(statement, plan):
                return self._define(plan, mapped, statement, wrapped=wrapped)
            if fields:
                return self._named_above(plan, mapped, wrapped=wrapped)
            return self._lambda(plan, mapped, wrapped=wrapped)
        if self.parts.asks(plan):  # what is mapped is taken as it is now
            if self._bound(plan, mapped, statement, wrapped=wrapped):
                return True
            return (
                not fields and self.stable.is_stable(plan, []) and self._lambda(plan, mapped, wrapped=wrapped, now=True)
            )
        if self.places.holder(plan.site.node) is None:
            return self._bound(plan, mapped, statement, wrapped=wrapped)
        self._direct(plan, mapped, wrapped=wrapped)  # a function that importing runs has what it maps only then
        return True

    def _renewed(self, plan: MapPlan, statement: ast.Assign, *, wrapped: bool) -> bool:
        """`step = pmap(step)` under `def step`: as a decorator of it; `wrapped`: its body is not changed yet."""
        function = self.places.mapped_anew(statement, plan)
        if function is None or not self.stable.is_stable(plan, []):
            return False
        if not self._around(plan, function, [], changes=wrapped):
            return False
        self.operations.append(DropStatement(statement))
        return True

    def _with_mesh(self, plan: MapPlan) -> MapPlan:
        """A map whose mesh has a name above its statement: of given devices, in programs of several processes."""
        place = self.places.above(plan)
        above = place is not None and self.places.is_value(plan, place) and not self.places.is_deferred(plan)
        given = plan.has_own_mesh and self.parts.processes and not plan.own_devices
        return replace(plan, mesh="mesh") if given and above else plan

    def _direct(self, plan: MapPlan, mapped: str | ast.expr, *, wrapped: bool) -> None:
        """`jax.jit(jax.shard_map(...))` in place; what is said more than once is said above the statement."""
        place = self.places.above(plan)
        if wrapped and place is not None and (own := self.above.wrapper(plan, mapped)) is not None:
            if not self._decorated(plan.around, place, *own):
                self.operations.append(Before(place, own[1]))
                self._direct(plan.around, own[0], wrapped=False)
            return
        if (
            (plan.lays_out or plan.moves)
            and place is not None
            and not (self.parts.processes or self.parts.shared.has_get_mesh)
        ):
            plan = self.above.mesh(plan)  # which is said twice
        said, specs = self.above.specs(plan, wrapped=wrapped, local=True) if place is not None else ({}, "")
        above, parts = list[str](), dict[str, str | Part]()
        for name, text in [*said.items()] if place is not None else ():
            assert place is not None
            known = self.above.known(plan, place, name, text)
            above += [f"{name} = {text}"] if known == name else []
            specs = re.sub(rf"\b{name}\b", known, specs)
            said[known] = said.pop(name)
        common = self.above.common(plan, place) if place is not None and not said else ""
        made = self.parts.whole(plan, mapped, "", specs, wrapped=wrapped, common=common)
        local = self.parts.local(plan, "$made", specs)
        for name, text in said.items():
            local = local and local.replace(text, name)
        if local and not common and place is not None and self.places.is_value(plan, place):
            name = self.above.name(plan, f"sharded_{self.places.stem(plan)}")
            above.append(f"{name} = $mapped")
            parts["mapped"] = made
            made = code(name)
        layout: str | Code = self.parts.everywhere(plan) if plan.lays_out and not plan.moves else ""
        if isinstance(layout, Code) and place is not None:
            name = self.above.name(plan, "replicated")
            known = self.above.known(plan, place, name, f"{layout.text} {plan.mesh}")
            above += [f"{name} = $layout"] if known == name else []
            parts["layout"], layout = layout, known
        if above and place is not None:
            self.operations.append(Before(place, code("\n".join(above), axis=self.parts.axis(plan), **parts)))
        options, more = self.parts.options(plan, layout)
        self._put(plan, code(f"$jit($mapped{options})", jit=self.parts.names.of("jax.jit"), mapped=made, **more), local)

    def _decorated(self, plan: MapPlan, place: ast.stmt, name: str, around: Code) -> bool:
        """The function around what is mapped, with the map above it, in the place of `step = pmap(f)` or over it."""
        if plan.moves or plan.lays_out or not self.places.is_value(plan, place):
            return False
        renamed = "bound" in around.parts  # what is mapped has another name above, so that the map can have its own
        alone = isinstance(place, ast.Assign) and (
            (renamed and (self.places.is_def(place, plan) or self.places.is_last(place, plan)))
            or self.places.can_be_def(place, plan)
        )
        target = place.targets[0] if isinstance(place, ast.Assign) else None
        called = target.id if alone and isinstance(target, ast.Name) else ""
        called = called or self.above.name(plan, f"sharded_{self.places.stem(plan)}")
        said, specs = self.above.specs(plan, wrapped=False, local=True)
        common = self.above.common(plan, place) if not said else ""
        mapped = code(common) if common else self.parts.partial(plan, specs, above=True)
        every = (*self.parts.jit_decorators(plan, self.ids[plan.site.node], specs), mapped)
        heads = "".join(f"@$decorator{i}\n" for i in range(len(every)))
        first = "".join(f"{one} = {text}\n" for one, text in said.items())
        text = first + around.text.replace(f"def {name}(", f"{heads}def {called}(")
        parts = {**around.parts, **{f"decorator{i}": one for i, one in enumerate(every)}}
        made = code(text, axis=self.parts.axis(plan), **parts)
        if alone:
            self.operations.append(ReplaceStatement(place, made))
        else:
            self.operations += [Before(place, made), Replace(self._compiling(plan) or plan.site.node, code(called))]
        return True

    def _put(self, plan: MapPlan, made: Code, local: str | None) -> None:
        if local:
            made = code(local, made=made, axis=self.parts.axis(plan))
        made = code("$marked", marked=Marked(self.ids[plan.site.node], made, mapped=True))
        self.operations.append(Replace(self._compiling(plan) or plan.site.node, made))

    def _compiling(self, plan: MapPlan) -> ast.expr | None:
        """The jit around a map that goes: there, a donation counts for nothing, and processes map apart."""
        own = plan.donated is None and not plan.static and (plan.own_devices or not self.parts.processes)
        return compiling(plan.site, self.resolver) if own else None

    def _lambda(self, plan: MapPlan, mapped: str | ast.expr, *, wrapped: bool, now: bool = False) -> bool:
        """`jax.jit` of a function that maps when it is called, and touches no backend before: one above, or a lambda.

        With `now` what is mapped is evaluated where the site stands, and not at each call.
        """
        if needs_names(plan):
            return False
        place = self.places.above(plan)
        if wrapped and not now and place is not None and (own := self.above.wrapper(plan, mapped)) is not None:
            self.operations.append(Before(place, own[1]))
            mapped, wrapped, plan = own[0], False, plan.around
        above = place is not None and self._is_in_function(place) and not self.places.is_magic(place)
        named = (above and self._has_room(plan)) or plan.given_by_keyword or plan.by_keyword
        signature, given = passed(plan if named else replace(plan, names=None))
        options, parts = self.parts.options(plan)
        rows = self.parts.rows_of(plan, plan.names if named else None)
        fun = ""
        in_loop = self.stable.in_loop(plan.site.node)
        if now and place is not None and above and not (in_loop and isinstance(mapped, ast.Name)):
            fun = self.above.bound(plan)
            self.operations.append(Before(place, code(f"{fun} = $bound", bound=mapped)))
            mapped = fun
        if now and (in_loop or not above):
            fun = "fun" if "fun" not in (plan.names or ()) else self.parts.names.free("mapped_fun")
            first, star, more = signature.partition(", **")
            signature = f"{first}{', *' if named and not more else ''}, {fun}=$bound{star}{more}"
            parts["bound"] = mapped if not isinstance(mapped, str) else code(mapped)
        called = self.parts.whole(plan, fun or mapped, rows, "", wrapped=wrapped)
        jit = self.parts.names.of("jax.jit")
        if above:
            assert place is not None
            name = self.above.name(plan, f"sharded_{self.places.stem(plan)}")
            bound = {"bound": parts.pop("bound")} if "bound" in parts else {}
            text = f"def {name}({signature}):\n    return $mapped({given})"
            self.operations.append(Before(place, code(text, mapped=called, **bound)))
            made = code(f"$jit({name}{options})", jit=jit, **parts)
        else:
            made = code(f"$jit(lambda {signature}: $mapped({given}){options})", jit=jit, mapped=called, **parts)
        self._put(plan, made, self.parts.local(plan, "$made"))
        return True

    def _has_room(self, plan: MapPlan) -> bool:
        """Whether the names of the arguments of a function above a map fit into one line."""
        return plan.names is not None and len(", ".join(plan.names)) <= ROOM

    def _is_in_function(self, statement: ast.stmt) -> bool:
        """Whether a statement is one of a function, where a function above it is seen by nobody else."""
        own = self.module.table.scope_of.get(statement)
        return own is not None and own.kind == "function"

    def _define(self, plan: MapPlan, mapped: ast.expr, statement: ast.Assign, *, wrapped: bool) -> bool:
        """A function in the place of `name = pmap(f)`."""
        target = statement.targets[0]
        assert isinstance(target, ast.Name)
        if needs_names(plan):
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
        is_wrapper: bool = False,
    ) -> Code:
        """A function with a name that maps what is mapped each time that it is traced; `bound` gets its name first."""
        if wrapped and (own := self.above.wrapper(plan, mapped)) is not None:
            first = "" if bound is None else f"{mapped} = $bound\n"
            inner = self._definition(
                plan.around, own[0], name, wrapped=False, is_marked=is_marked, is_wrapper=plan.names is not None
            )
            every = {**own[1].parts, **inner.parts}
            return Code(f"{first}{inner.text}\n\n{own[1].text}", every if bound is None else {**every, "bound": bound})
        signature, _ = passed(plan)
        open_fields = self.parts.field_specs(plan)
        said, specs = ({}, "") if open_fields else self.above.specs(plan, wrapped=wrapped, local=True)
        around: tuple[str | Part, MapPlan] = mapped, plan
        if not (wrapped or said):
            around = self.parts.bound(plan, mapped, by_keyword=is_wrapper or self._has_such_names(plan))
        fun, rest = around
        made = self.parts.whole(rest, fun, self.parts.rows_of(rest, rest.names), specs, wrapped=wrapped)
        inside = "".join(f"    {line}\n" for line in open_fields)
        mark = self.ids[plan.site.node] if is_marked else None
        decorators = self.parts.jit_decorators(plan, mark, specs, is_local=not plan.lays_out)
        function = self.parts.names.free(f"sharded_{name}") if plan.lays_out else name
        heads = "".join(f"@$decorator{i}\n" for i in range(len(decorators)))
        parts: dict[str, str | Part] = {f"decorator{i}": d for i, d in enumerate(decorators)}
        named_first = "".join(f"{one} = {text}\n" for one, text in said.items())
        if bound is not None:
            named_first, parts["bound"] = f"{mapped} = $bound\n{named_first}", bound
        text = f"{named_first}{heads}def {function}({signature}):\n{inside}    return $mapped({passed(rest)[1]})"
        if plan.lays_out:
            text += "\n\n\n" + self._putting(plan, name, function, specs)
            parts["everywhere"] = self.parts.everywhere(plan)
        return code(text, mapped=made, axis=self.parts.axis(plan), **parts)

    def _has_such_names(self, plan: MapPlan) -> bool:
        """Whether the mapped function takes its arguments by the names that they have around it."""
        function, _ = mapped_function(plan.site, self.resolver)
        known = function.passed_names() if function is not None and not function.node.args.posonlyargs else []
        return plan.names is not None and known[: len(plan.names)] == [*plan.names]

    def _putting(self, plan: MapPlan, name: str, inner: str, specs: str) -> str:
        """The source of a function that brings to all devices what is the same on them, as pmap does, and maps all."""
        assert plan.names is not None
        put = [one for one, array in zip(plan.names, plan.inputs, strict=False) if not array.split]
        every = put[0] if len(put) == 1 else f"({', '.join(put)})"
        local, given = self.parts.local(plan, "", specs), ", ".join(plan.names)
        return (
            f"{f'@{local}' if local else ''}\ndef {name}({given}):\n"
            f"    {', '.join(put)} = {self.parts.names.of('jax')}.device_put({every}, $everywhere)\n"
            f"    return {inner}({given})"
        ).lstrip("\n")

    def _named_above(self, plan: MapPlan, mapped: ast.expr, *, wrapped: bool) -> bool:
        """A function above the statement of a map that goes to an attribute, or is an argument or a result."""
        place = self.places.above(plan)
        if place is None or needs_names(plan) or not self._is_in_function(place) or self.places.is_magic(place):
            return False
        name = self.above.name(plan, f"sharded_{self.places.stem(plan)}")
        made = self._definition(plan, mapped, name, wrapped=wrapped, is_marked=False)
        self.operations.append(Before(place, made))
        self._put(plan, code(name), "")
        return True

    def _bound(self, plan: MapPlan, mapped: ast.expr, statement: ast.stmt | None, *, wrapped: bool) -> bool:
        """What is mapped gets a name, which a function in the place of `name = pmap(f)` maps."""
        if not isinstance(statement, ast.Assign) or needs_names(plan):
            return False
        if not (self.places.is_def(statement, plan) or self.places.is_last(statement, plan)):
            return False
        target = statement.targets[0]
        assert isinstance(target, ast.Name)
        if self.stable.in_loop(statement) or not self.stable.is_stable(plan, []):
            return False
        name = self.above.bound(plan)
        made = self._definition(plan, name, target.id, wrapped=wrapped, bound=mapped)
        self.operations.append(ReplaceStatement(statement, made))
        return True

    def _hoist(self, plan: MapPlan, mapped: ast.expr, *, wrapped: bool) -> bool:
        """A function above the one that maps at each of its calls: jit would compile anew, which pmap does not."""
        place = self.again.place(plan, mapped)
        if place is None or needs_names(plan) or not self.stable.is_stable(plan, [mapped]):
            return False
        key = (ast.dump(mapped), key_of(plan, wrapped=wrapped))
        beside = self.module.table.block_of(place)
        name = next((one for one, at in self.makers.get(key, ()) if at in beside and at.lineno <= place.lineno), "")
        own = self.places.name_alone(plan) if not name else None
        if not name:
            name = own[0] if own else self.parts.names.free(f"sharded_{last_name(mapped).lstrip('_')}")
            made = self._definition(plan, mapped, name, wrapped=wrapped, is_marked=own is not None)
            behind = isinstance(mapped, ast.Name) and getattr(place, "name", None) == mapped.id
            self.operations.append(After(place, made) if behind else Before(place, made))
            self.makers.setdefault(key, []).append((name, place))
        if own:
            self.operations.append(DropStatement(own[1]))
        else:
            self._put(plan, code(name), "")
        return True

    def _remembered(self, plan: MapPlan, mapped: ast.expr, *, wrapped: bool) -> bool:
        """A function above that makes a map once for each function that it is given, as pmap's cache does."""
        place = self.again.outermost(replace(plan, mesh=""), mapped)
        if place is None or needs_names(plan) or any(a.is_open for a in plan.everything):
            return False
        cache = self.parts.names.of("functools.lru_cache")
        own = with_parameters(plan, self.module)
        key = key_of(own, wrapped=wrapped)
        name = next((one for one, above in self.makers.get(key, ()) if above.lineno <= place.lineno), "")
        if not name:
            made = self._maker(own, wrapped=wrapped)
            if made is None:
                return False
            name = self.parts.names.free("sharded", f"sharded_{last_name(mapped).lstrip('_')}")
            self.operations.append(Before(place, code(f"@$cache\ndef {name}{made.text}", cache=cache, **made.parts)))
            self.makers.setdefault(key, []).append((name, place))
        brought = {
            "axis_name": self.parts.axis(replace(plan, axis_source="")),
            "mesh": self.parts.mesh(replace(plan, mesh=""), ""),
        }
        parts = {one: brought[one] for one in parameters(own)}
        called = code(f"{name}({', '.join(f'${one}' for one in ('fun', *parts))})", fun=mapped, **parts)
        self._put(plan, called, "")
        return True

    def _maker(self, plan: MapPlan, *, wrapped: bool) -> Code | None:
        """A function of what is mapped that gives its map, from its parameters on."""
        fun, first, parts = FUN, "", dict[str, str | Part]()
        if wrapped and (own := self.above.wrapper(plan, FUN, "block")) is not None:
            fun, wrapped, plan = own[0], False, plan.around
            first, parts = f"\n{indent(own[1].text, '    ')}\n\n", {**own[1].parts}
        named = plan.given_by_keyword or plan.by_keyword
        names = plan.names if named else None
        options, more = self.parts.options(plan)
        taken, given = passed(replace(plan, names=names))
        mapped = self.parts.whole(plan, fun, self.parts.rows_of(plan, names), "", wrapped=wrapped)
        call = f"lambda {taken}: $mapped({given})" if self.parts.asks(plan) else "$mapped"
        made = code(f"$jit({call}{options})", jit=self.parts.names.of("jax.jit"), mapped=mapped, **more)
        local = self.parts.local(plan, "$made")
        if local is None:
            return None
        signature = ", ".join([FUN, *parameters(plan)])
        text = f"({signature}):\n    {TOLD}\n{first}    return {local or '$made'}"
        return code(text, made=made, axis=self.parts.axis(plan), **parts)
