"""What a function that hands its keywords on to pmap is given, by all code that names it."""

from __future__ import annotations

import ast
from typing import NamedTuple

from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External

Named = ast.FunctionDef | ast.AsyncFunctionDef


def passed_on(site: MappedSite, resolver: Resolver) -> frozenset[str] | None:
    """The keywords that calls give the function around a site; None where some use of it does not show them.

    What is bound at the site counts too. Functions of the same name elsewhere are taken for the same one.
    """
    function = _around(site)
    if function is None or not _hands_on(function, site):
        return None
    found = {argument.keyword for argument in site.arguments if argument.keyword not in (None, "*", "**")}
    for module in resolver.project.program:
        for node in module.table.named.get(function.name, ()):
            if not isinstance(node.ctx, ast.Load) or isinstance(resolver.value(node, module), External):
                continue
            given = _given(node, module)
            if given is None or len(given.arguments) > len(function.args.args):
                return None
            found |= given.keywords
    return None if _is_said(function.name, resolver) else frozenset(one for one in found if one)


def _hands_on(function: Named, site: MappedSite) -> bool:
    """Whether what a site does not show is only what comes in by the stars of the function around it."""
    stars = [one.expression for one in site.arguments if one.keyword in ("*", "**")]
    own = {one.arg for one in (function.args.vararg, function.args.kwarg) if one is not None}
    return bool(own) and all(isinstance(one, ast.Name) and one.id in own for one in stars)


class _Given(NamedTuple):
    """What a function is given by position and by keyword."""

    arguments: list[ast.expr]
    keywords: set[str]


def _given(node: ast.expr, module: Module) -> _Given | None:
    """What is given where a function is named; None where that does not show."""
    parent = module.table.parents.get(node)
    if isinstance(parent, Named):
        return _Given([node], set()) if node in parent.decorator_list else None
    if not isinstance(parent, ast.Call) or any(one.arg is None for one in parent.keywords):
        return None
    if any(isinstance(one, ast.Starred) for one in parent.args):
        return None
    keywords = {one.arg for one in parent.keywords if one.arg is not None}
    if parent.func is node:
        return _Given(parent.args, keywords)
    if last_name(parent.func) != "partial" or parent.args[:1] != [node]:
        return None
    more = _given(parent, module)
    return None if more is None else _Given([*parent.args[1:], *more.arguments], keywords | more.keywords)


def _around(site: MappedSite) -> Named | None:
    """The function that a site stands in."""
    node = site.module.table.parents.get(site.node)
    while node is not None and not isinstance(node, Named | ast.Lambda | ast.ClassDef):
        node = site.module.table.parents.get(node)
    return node if isinstance(node, Named) else None


def _is_said(name: str, resolver: Resolver) -> bool:
    """Whether a string of the project is a name, by which code in or out of sight may reach what goes by it."""
    modules = [module for module in resolver.project.program if name in module.text]
    return any(isinstance(node, ast.Constant) and node.value == name for module in modules for node in module.nodes)
