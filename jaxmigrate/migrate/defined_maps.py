"""The operations that put a function in the place of a map, which maps each time that it is traced."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from jaxmigrate.migrate.map_operations import MapOperations
from jaxmigrate.migrate.map_parts import needs_names, passed
from jaxmigrate.migrate.maps import MapPlan
from jaxmigrate.program.operations import Before, Code, Part, ReplaceStatement, code
from jaxmigrate.program.sites import mapped_function


@dataclass(slots=True, eq=False)
class DefinedMaps(MapOperations):
    """Writes maps as functions: in the place of `name = pmap(f)`, or above the statement of a map."""

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
