"""The arguments of a map that are one array each at every call of it, as the random keys that `split` makes."""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout import made_arrays
from jaxmigrate.migrate.one_device import is_only_called
from jaxmigrate.migrate.site_calls import has_receiver, taken_calls
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite
from jaxmigrate.program.syntax import has_stars
from jaxmigrate.program.values import Application, External

GIVE_ARRAYS = frozenset({"astype", "ravel", "reshape", "swapaxes"})  # methods


@once_each
def given_arrays(site: MappedSite, resolver: Resolver) -> frozenset[int | str]:
    """The places and the keywords of what all calls of a map, which are known, give as one array."""
    calls = taken_calls(site, resolver)
    if not calls or not is_only_called(site, resolver) or any(has_stars(call) for call, _ in calls):
        return frozenset()
    given: dict[int | str, list[bool]] = {}
    for call, module in calls:
        first = int(has_receiver(site, call))
        arguments: list[tuple[int | str, ast.expr]] = [(i + first, one) for i, one in enumerate(call.args)]
        arguments += [(one.arg, one.value) for one in call.keywords if one.arg is not None]
        for place, one in arguments:
            given.setdefault(place, []).append(_is_array(one, module, resolver))
    return frozenset(place for place, found in given.items() if len(found) == len(calls) and all(found))


def _is_array(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    if made_arrays.makes_array(resolver, node, module):
        return True
    match node:
        case ast.Call(func=ast.Attribute(attr=name)) if name in GIVE_ARRAYS:
            return not any(f"def {name}(" in one.text for one in resolver.project.named)
    values = resolver.values(node, module)
    made = [v.callee for v in values if isinstance(v, Application) and isinstance(v.callee, External)]
    return bool(made) and len(made) == len(values) and all(one.name in named("splits-key") for one in made)
