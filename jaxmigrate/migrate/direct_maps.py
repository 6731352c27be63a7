"""The operations that map where the map stands: `jax.jit(jax.shard_map(...))`."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace

from jaxmigrate.migrate.map_operations import MapOperations
from jaxmigrate.migrate.map_parts import needs_names, passed
from jaxmigrate.migrate.maps import MapPlan
from jaxmigrate.program.operations import Before, Code, Part, Replace, ReplaceStatement, code

ROOM = 50  # characters of the names of arguments


@dataclass(slots=True, eq=False)
class DirectMaps(MapOperations):
    """Writes maps in place, with what is said more than once above the statement."""

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
            and not (self.parts.processes or self.parts.shared.has_get_mesh or plan.listed)
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
