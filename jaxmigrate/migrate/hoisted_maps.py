"""The operations on maps that are made anew by each call of a function: jit would compile them each time."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from textwrap import indent

from jaxmigrate.migrate.defined_maps import DefinedMaps
from jaxmigrate.migrate.kept_maps import FUN, TOLD, key_of, parameters, with_parameters
from jaxmigrate.migrate.map_parts import needs_names, passed
from jaxmigrate.migrate.maps import MapPlan
from jaxmigrate.program.operations import After, Before, Code, DropStatement, Part, code
from jaxmigrate.program.syntax import last_name


@dataclass(slots=True, eq=False)
class HoistedMaps(DefinedMaps):
    """Writes maps above the functions that make them, once or once for each function that is mapped."""

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
