"""The `jax.jit` right around a map, which does no more than the map's own."""

from __future__ import annotations

import ast

from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite, is_decorator
from jaxmigrate.program.values import External


def compiling(site: MappedSite, resolver: Resolver) -> ast.expr | None:
    """The call `jax.jit(jax.pmap(f))` of a map, or the decorator `@jax.jit` right above its own; None without one."""
    around = site.module.table.parents.get(site.node)
    if is_decorator(site.node, site.module):
        assert isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef)
        index = around.decorator_list.index(site.node)
        above = around.decorator_list[index - 1] if index else None
        return above if above is not None and _is_jit(above, site, resolver) else None
    if isinstance(around, ast.Call) and around.args == [site.node] and not around.keywords:
        return around if _is_jit(around.func, site, resolver) else None
    return None


def _is_jit(node: ast.expr, site: MappedSite, resolver: Resolver) -> bool:
    return resolver.value(node, site.module) == External("jax.jit")
