"""The operations that map a decorated function within one of its name, or by another decorator."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from jaxmigrate.migrate.kept_defaults import kept_defaults
from jaxmigrate.migrate.map_operations import MapOperations, Named
from jaxmigrate.migrate.map_parts import passed
from jaxmigrate.migrate.maps import MapPlan
from jaxmigrate.migrate.names import names_in
from jaxmigrate.migrate.overriding import is_called_of_objects, may_be_overridden
from jaxmigrate.program.operations import Code, Enclose, Part, Redecorate, code

OF_PMAP = re.compile(r"(?<=\w)_pmap(ped)?$|^pmap(ped)?_(?=[A-Za-z])")  # what the name of a map says of it


@dataclass(slots=True, eq=False)
class DecoratedMaps(MapOperations):
    """Writes maps that are decorators."""

    def _enclose(self, plan: MapPlan) -> bool:
        """`@jax.jit` around a function that maps the decorated one, which keeps its body under a new name."""
        function = self.module.table.parents[plan.site.node]
        assert isinstance(function, Named)
        if isinstance(function, ast.AsyncFunctionDef) or any(n.id == function.name for n in names_in(function.body)):
            return False
        below = function.decorator_list[function.decorator_list.index(plan.site.node) + 1 :]
        if self._decorate_around(plan, function, below) if below else self._decorate(plan, function):
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

    def _decorate_around(self, plan: MapPlan, function: ast.FunctionDef, below: list[ast.expr]) -> bool:
        """The same of a function with other decorators below the map: it gets a new name, and another one calls it."""
        if not self._is_mapped_at_once(plan, function) or not plan.drops or not self.parts.has_local(plan):
            return False
        inner = f"{OF_PMAP.sub('', function.name)}_per_device"
        made = self.above.wrapper(plan, inner) if inner not in self.parts.names.taken else None
        if made is None:
            return False
        name, around = made
        self.parts.names.taken.add(inner)
        around = Code(around.text.replace(f"def {name}(", f"def {function.name}("), around.parts)
        mapped = self.parts.partial(plan.around, self._specs_above(plan.around, function), above=True)
        decorators = (*self.parts.jit_decorators(plan, self.ids[plan.site.node]), mapped)
        compiled = self._compiling(plan)
        dropped = (compiled, plan.site.node) if compiled is not None else (plan.site.node,)
        kept = tuple(kept_defaults(plan, function))
        self.operations.append(Enclose(function, around, inner, dropped, decorators, tuple(below), kept))
        return True

    def _is_mapped_at_once(self, plan: MapPlan, function: ast.FunctionDef) -> bool:
        """Whether a function is made while the program runs, and can be mapped right then, mesh and all."""
        is_method = self.module.table.scope_of[function].kind == "class"
        deferred = self.places.is_deferred(plan) or self.parts.asks(plan)
        return not (is_method or deferred or plan.by_name or plan.any_keywords)

    def _decorate(self, plan: MapPlan, function: ast.FunctionDef) -> bool:
        """`@functools.partial(jax.shard_map, ...)` where the function is made while the program runs, mesh and all."""
        if not self._is_mapped_at_once(plan, function):
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
