"""Code that may ask whether an axis is bound: `try: return lax.pmean(x, "batch")`, `except NameError: return x`.

Where there is such code, a map that has no name for its axis must not bind that of the others.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from jaxmigrate.flow.variance import loaded_beside
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name

COLLECTIVES = re.compile(
    r"p(?:mean|sum|max|min|permute|shuffle|swapaxes|sum_scatter|broadcast)"
    r"|all_(?:gather|to_all)|reduce_scatter|axis_(?:index|size)"
)
ASKS = re.compile(r"\b(?:NameError|axis_frame|axis_env|get_axis_(?:env|names)|axis_exists|in_pmap|\w+_if_pmap)\b")
BROAD = frozenset({"Exception", "BaseException"})
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def may_be_asked(resolver: Resolver, mapping: Iterable[Module]) -> bool:
    """Whether code that runs with modules which map may do one thing where an axis is bound, and else another."""
    beside = (other for module in mapping for other in loaded_beside(resolver, module))
    modules = [*dict.fromkeys((*resolver.project.named, *beside))]
    if any(ASKS.search(module.text) for module in modules):
        return True
    bodies = [names for module in modules for names in _caught(module)]
    if not bodies:
        return False
    reducing = _reducing(modules)
    return any(COLLECTIVES.fullmatch(name) or name in reducing for names in bodies for name in names)


def _caught(module: Module) -> Iterator[Collection[str]]:
    """The names in statements whose every error is caught."""
    if "except" not in module.text and "suppress" not in module.text:
        return
    for node in module.nodes:
        if (isinstance(node, ast.Try) and any(_is_broad(handler.type) for handler in node.handlers)) or (
            isinstance(node, ast.With) and any(_suppresses(item.context_expr) for item in node.items)
        ):
            yield _names(node.body)


def _is_broad(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(map(_is_broad, caught.elts))
    return caught is None or last_name(caught) in BROAD


def _suppresses(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == "suppress" and any(map(_is_broad, node.args))


def _names(nodes: Sequence[ast.AST]) -> set[str]:
    found = (n for one in nodes for n in ast.walk(one) if isinstance(n, ast.Name | ast.Attribute))
    return {name for name in map(last_name, found) if name}


def _reducing(modules: Sequence[Module]) -> set[str]:
    """The functions, by name, that name a collective, or another one of them."""
    bodies = {
        (module.path, node.lineno): (node.name, _names(node.body))
        for module in modules
        for node in module.nodes
        if isinstance(node, _FUNCTIONS)
    }
    found = {name for name, inner in bodies.values() if any(map(COLLECTIVES.fullmatch, inner))}
    while more := {name for name, inner in bodies.values() if name not in found and not found.isdisjoint(inner)}:
        found |= more
    return found
