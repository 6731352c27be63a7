"""Maps over an axis of a name of their own for which nothing else asks: that of the other maps does as well.

`cross_replica_mean = jax.pmap(lambda x: lax.pmean(x, "x"), "x")` beside maps over `"batch"` needs no second mesh.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import all_parameters
from jaxmigrate.program.sites import MappedSite, axis_of
from jaxmigrate.program.values import Constant, External


def own_axes(sites: Iterable[MappedSite], resolver: Resolver) -> frozenset[str]:
    """The axes that only mapped lambdas say, for which any other can stand."""
    found, kept = set[str](), {""}
    for site in sites:
        axis = axis_of(site, resolver)
        name = axis.value if isinstance(axis, Constant) and isinstance(axis.value, str) else ""
        (found if says_axis(site, name, resolver) else kept).add(name)
    return frozenset(found - kept)


def says_axis(site: MappedSite, name: str, resolver: Resolver) -> list[ast.Constant]:
    """The strings by which a mapped lambda says its axis; none where something else in it may ask for one."""
    argument, mapped = site.keyword("axis_name"), site.mapped.expression if site.mapped is not None else None
    said = argument.expression if argument is not None and argument.module is site.module else None
    if not isinstance(said, ast.Constant) or not isinstance(mapped, ast.Lambda) or site.keyword("devices") is not None:
        return []
    found: list[ast.Constant] = []
    taken = {parameter.arg for parameter in all_parameters(mapped.args)}
    for node in ast.walk(mapped):
        match node:
            case ast.Lambda() if node is not mapped:
                return []
            case ast.Call(func=func):
                value = resolver.value(func, site.module)
                if not isinstance(value, External) or not value.name.startswith("jax."):
                    return []
            case ast.Name(id=read) if read not in taken and not _says_nothing(node, site, resolver):
                return []
            case ast.Constant(value=str(text)):
                if text != name:
                    return []
                found.append(node)
    return found


def _says_nothing(node: ast.Name, site: MappedSite, resolver: Resolver) -> bool:
    """Whether a name stands for a library, or for a number: for no function or text that may say an axis."""
    value = resolver.value(node, site.module)
    return isinstance(value, External) or (isinstance(value, Constant) and isinstance(value.value, int | float))
