"""What tells devices apart under no name of its own: `getattr(jax.lax, name)`, `vars(lax)["axis_index"]`."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import UNKNOWN, Constant, External

HOMES = frozenset({"jax", "jax.experimental", "jax.lax"})  # the modules that such functions lie in
RUNNERS = frozenset({"compile", "eval", "exec"})
CODE = re.compile(r"\blax\b|axis|callback|ppermute|process_index|pshuffle|psum_scatter|pswapaxes|all_to_all")
GETTERS = frozenset({"__getattribute__", "attrgetter", "getattr", "getattr_static", "methodcaller"})


def introducers(module: Module, resolver: Resolver, names: Collection[str]) -> Iterator[ast.expr]:
    """The expressions of a module that may get at one of some functions by a string, written out or computed."""
    yield from _said(module, names)
    yield from _computed(module, resolver)


def _said(module: Module, names: Collection[str]) -> Iterator[ast.expr]:
    """Strings that are such a name, or a dotted one, with what they are given to."""
    if not any(name in module.text for name in names):
        return
    for node in module.nodes:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        above = module.table.parents.get(node)
        if node.value.rpartition(".")[2] in names and not isinstance(above, ast.Expr):
            yield above if isinstance(above, ast.Call | ast.Subscript) else node


def _computed(module: Module, resolver: Resolver) -> Iterator[ast.expr]:
    """What is looked up in a module of JAX's by a name that is computed, and what code made of strings gives."""
    for call in module.table.calls:
        name = last_name(call.func)
        if name in GETTERS and len(call.args) > 1 and not isinstance(call.args[1], ast.Constant):
            if _is_home(call.args[0], module, resolver):
                yield call
        elif name in RUNNERS and call.args and any(map(CODE.search, _texts(call.args[0], module, resolver))):
            yield call
        elif name == "vars" and len(call.args) == 1 and _is_home(call.args[0], module, resolver):
            yield _item(call, module)
    for node in module.table.named.get("__dict__", ()):
        if isinstance(node, ast.Attribute) and _is_home(node.value, module, resolver):
            yield _item(node, module)


def _texts(code: ast.expr, module: Module, resolver: Resolver) -> Iterator[str]:
    """The pieces of text that code to be run is made of, as far as they are in sight."""
    yield from (n.value for n in ast.walk(code) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    values = resolver.values(code, module)
    yield from (v.value for v in values if isinstance(v, Constant) and isinstance(v.value, str))


def _item(table: ast.expr, module: Module) -> ast.expr:
    """What is taken out of a table of names, or the table."""
    above = module.table.parents.get(table)
    return above if isinstance(above, ast.Subscript) and above.value is table else table


def _is_home(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    values = resolver.values(node, module)
    return any(isinstance(v, External) and v.name in HOMES for v in values) or (
        UNKNOWN in values and last_name(node) in ("lax", "jax")
    )
